#include "tools/zarrctl/page/sections.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "tools/zarrctl/describe.h"
#include "tools/zarrctl/map/map_view.h"
#include "tools/zarrctl/output.h"
#include "tools/zarrctl/page/array_facts.h"
#include "tools/zarrctl/page/chunk_picture.h"
#include "tools/zarrctl/page/html.h"
#include "tools/zarrctl/page/numbers.h"
#include "tools/zarrctl/page/orientation.h"
#include "tools/zarrctl/page/picture.h"
#include "tools/zarrctl/stored_chunks.h"
#include "zarrcore/hierarchy/whole_files.h"
#include "zarrcore/metadata/base64.h"

namespace zarrfs::ctl {
namespace {

// The maximum times for finding the sizes, making the picture, and making the map of one section.
constexpr std::chrono::seconds kForSizes{4};
constexpr std::chrono::seconds kForPicture{10};
constexpr std::chrono::seconds kForMap{4};

constexpr size_t kMaxNamedFailures = 8;  // the maximum number of failures that a section names
constexpr size_t kMaxPathLength = 400;
constexpr size_t kMaxReasonLength = 600;
// Small pictures are enlarged up to this width or height, in pixels.
constexpr uint32_t kShownSide = 256;
constexpr uint32_t kMinShown = 24;
constexpr uint64_t kFoldedColumns = 32;  // the width, in cells, of a map of a whole array

// HTML for a string from the store, isolated from the text direction around it.
std::string Bdi(std::string_view text) { return "<bdi>" + EscapeHtml(text) + "</bdi>"; }

std::string PngAddress(const Pixels& pixels) {
  const std::string png = EncodePng(pixels);
  return "data:image/png;base64," + EncodeBase64(std::as_bytes(std::span(png)));
}

// HTML for a picture. Escapes `alt`. `scale`: the factor by which the picture is enlarged.
std::string ImageHtml(const std::string& address, uint32_t width, uint32_t height, uint32_t scale,
                      std::string_view alt) {
  return fmt::format("<img src=\"{}\" alt=\"{}\" style=\"width:{}px;aspect-ratio:{}/{}\">", address,
                     EscapeHtml(alt), std::max(width * scale, kMinShown),
                     std::max(width * scale, kMinShown), std::max(height * scale, kMinShown));
}

std::string FactsHtml(const Facts& facts) {
  if (facts.empty()) return "";
  std::string html = "<div class=\"wide\"><table class=\"facts\">\n";
  for (const auto& [name, text] : facts) {
    html += fmt::format("<tr><th>{}</th><td>{}</td></tr>\n", Bdi(name), Bdi(text));
  }
  return html + "</table></div>\n";
}

// HTML for the array's long name and units.
std::string MeaningHtml(const Json& attributes) {
  std::string name = TextAttribute(attributes, "long_name");
  if (name.empty()) name = TextAttribute(attributes, "standard_name");
  const std::string units = TextAttribute(attributes, "units");
  if (name.empty() && units.empty()) return "";
  std::string html = "<p class=\"meaning\">";
  if (!name.empty()) html += Bdi(name);
  if (!units.empty()) {
    html +=
        fmt::format("{}<span class=\"units\">{}</span>", name.empty() ? "" : ", in ", Bdi(units));
  }
  return html + "</p>\n";
}

class SectionMaker {
 public:
  SectionMaker(const PageContext& context, size_t number, const Node* node)
      : context_(context), number_(number), of_(context.found.nodes[number]), node_(node) {}

  Section Make() {
    html_ = fmt::format("<section id=\"{}\">\n<h2>{}</h2>\n", SectionId(number_),
                        of_.path.empty() ? "/" : Bdi(Shortened(of_.path, kMaxPathLength)));
    if (!of_.problem.empty()) Warn(of_.problem);
    if (node_ != nullptr && node_->array() != nullptr) {
      AddArray(*node_->array());
    } else if (node_ != nullptr && node_->group() != nullptr) {
      AddGroup(*node_->group());
    } else if (of_.problem.empty()) {
      Warn("not examined: time ran out");
    }
    made_.html = html_ + "</section>\n";
    return std::move(made_);
  }

 private:
  void Warn(std::string_view text) {
    html_ += fmt::format("<p class=\"warn\">{}</p>\n", Bdi(Shortened(text, kMaxReasonLength)));
  }
  void Say(std::string_view text) {
    html_ += fmt::format("<p class=\"note\">{}</p>\n", Bdi(Shortened(text, kMaxReasonLength)));
  }

  // Adds a failure to the section, unless a failure with the same message was already added.
  void AddFailure(const Error& error) {
    const auto is_same = [&](const Error& known) { return known.message == error.message; };
    if (std::ranges::none_of(made_.failures, is_same)) made_.failures.push_back(error);
  }

  void WarnOfFailures(uint64_t further) {
    for (size_t i = 0; i < made_.failures.size() && i < kMaxNamedFailures; ++i) {
      Warn("not read: " + made_.failures[i].message);
    }
    if (made_.failures.size() > kMaxNamedFailures)
      further += made_.failures.size() - kMaxNamedFailures;
    if (further > 0) Warn(fmt::format("and {} more; zarrctl verify lists them", further));
  }

  void AddGroup(const GroupMetadata& group) {
    for (size_t v = 0; v < AllViews().size(); ++v) {
      for (const std::string& note : node_->views[v].notes) {
        Say(fmt::format("{}: {}", AllViews()[v]->name(), note));
      }
    }
    AddLeftOut();
    // If the group is an OME-Zarr image, the array with its picture is usually directly below the
    // group.
    const std::string below = of_.path.empty() ? "" : of_.path + "/";
    const auto image = context_.found.images.lower_bound(below);
    if (image != context_.found.images.end() && FolderOf(image->first) == of_.path) {
      Say("its picture is at " + image->first);
    }
    ViewPaths paths(AllViews().size());
    for (size_t v = 0; v < paths.size(); ++v) {
      if (node_->views[v].hidden) continue;
      if (AllViews()[v]->file_of() == FileOf::kNothing) paths[v] = of_.path;
      if (AllViews()[v]->file_of() == FileOf::kGroups) paths[v] = FilePath(v);
    }
    AddDetails("attributes", FactsHtml(AttributesOf(group.attributes)));
    AddDetails("lines to copy", LinesHtml(LinesForGroup(context_.places, of_.path, paths)));
  }

  // Adds what the file that a view makes from the group leaves out, or why the view makes no file.
  void AddLeftOut() {
    for (size_t v = 0; v < AllViews().size(); ++v) {
      if (AllViews()[v]->file_of() != FileOf::kGroups) continue;
      if (context_.budget.is_over()) return Say("its files were not examined");
      const auto file = WholeFiles(context_.hierarchy).Assemble(of_.path, v, kAnyAge);
      if (!file) {
        Say(fmt::format("{}: {}", AllViews()[v]->name(), file.error().message));
        continue;
      }
      for (const std::string& note : (*file)->file.notes) {
        Say(fmt::format("{}: left out: {}", AllViews()[v]->name(), note));
      }
    }
  }

  // Returns the path, below the view's folder, of the file that a view makes from the node; nullopt
  // if it makes none.
  [[nodiscard]] std::optional<std::string> FilePath(size_t view) const {
    const std::string& name = of_.files[view];
    if (name.empty()) return std::nullopt;
    return JoinKey(FolderOf(of_.path), name);
  }

  void AddArray(const ArrayMetadata& metadata) {
    html_ += MeaningHtml(metadata.attributes);
    std::optional<StoredChunks> stored;
    if (node_->chunks != nullptr && !context_.budget.is_over()) {
      stored = FindStoredChunks(context_.hierarchy.store(), *node_,
                                {.add_sizes = true, .is_over = context_.budget.EndOf(kForSizes)});
      for (const auto& [key, error] : stored->problems) AddFailure(error);
    }
    uint64_t further = stored ? stored->problem_count - stored->problems.size() : 0;
    if (node_->chunks != nullptr) {
      html_ += "<div class=\"figures\">\n";
      further += AddPicture(metadata);
      AddMap();
      html_ += "</div>\n";
    }
    WarnOfFailures(further);
    html_ += FactsHtml(FactsOf(*node_, stored ? &*stored : nullptr));
    if (node_->chunks == nullptr) return;
    AddViews();
    AddDetails("attributes", FactsHtml(AttributesOf(metadata.attributes)));
  }

  void AddNoPicture(std::string_view why) {
    html_ +=
        fmt::format("<p class=\"note\">picture: {}</p>\n", Bdi(Shortened(why, kMaxReasonLength)));
  }

  // Adds the picture of the array. Returns the number of failed chunks whose errors are not in
  // picture->failures.
  uint64_t AddPicture(const ArrayMetadata& metadata) {
    if (!context_.has_pictures) {
      if (!context_.why_no_pictures.empty()) AddNoPicture(context_.why_no_pictures);
      return 0;
    }
    if (const auto level = context_.found.other_levels.find(of_.path);
        level != context_.found.other_levels.end()) {
      AddNoPicture("that of " + level->second + ", the smallest level of this image");
      return 0;
    }
    if (const std::string why = context_.budget.WhyNoPicture(); !why.empty()) {
      AddNoPicture("not examined: " + why);
      return 0;
    }
    const auto found = context_.found.images.find(of_.path);
    const OmeImage* image = found == context_.found.images.end() ? nullptr : &found->second;
    const auto is_over = context_.budget.EndOf(kForPicture);
    const bool is_turned = image == nullptr && RowsGoNorth(context_.hierarchy, *node_, is_over);
    const auto picture =
        MakePicture(metadata, *node_->chunks, image, is_turned, context_.budget.limits(), is_over);
    if (!picture) {
      const bool is_large = picture.error().code == ErrorCode::kTooLarge;
      AddNoPicture((is_large ? "not examined: " : "none: ") + picture.error().message);
      return 0;
    }
    context_.budget.CountPicture();
    for (const Error& error : picture->failures) AddFailure(error);
    ShowPicture(metadata, *picture);
    return picture->failed - picture->failures.size();
  }

  void ShowPicture(const ArrayMetadata& metadata, const Picture& picture) {
    const std::string address =
        "data:image/png;base64," + EncodeBase64(std::as_bytes(std::span(picture.png)));
    made_.has_picture = true;
    made_.picture_bytes = address.size();
    const std::string range =
        picture.least.empty()
            ? "no numbers in the picture"
            : fmt::format("minimum {}, maximum {} in the picture", picture.least, picture.greatest);
    html_ += "<figure>" +
             ImageHtml(address, picture.width, picture.height,
                       std::max<uint32_t>(1, kShownSide / std::max(picture.width, picture.height)),
                       fmt::format("{}: {}", Shortened(of_.path, kMaxPathLength), range));
    if (picture.has_scale && !picture.least.empty()) {
      html_ += fmt::format("<div class=\"scale\"><span>{}</span><i></i><span>{}</span></div>",
                           EscapeHtml(picture.darkest), EscapeHtml(picture.brightest));
    }
    html_ += "<figcaption>";
    const auto add = [&](std::string_view text) {
      if (!text.empty()) html_ += fmt::format("<span>{}</span> ", Bdi(text));
    };
    add(picture.place);
    add(range);
    add(Unpacked(metadata.attributes, picture.least, picture.greatest));
    for (const std::string& note : picture.notes) add(note);
    html_ += "</figcaption></figure>\n";
  }

  // Returns the slice that the map shows, as chunk numbers along all axes except the last two.
  [[nodiscard]] std::vector<uint64_t> SliceOfMap() const {
    const ArrayLayout& layout = node_->chunks->layout();
    const size_t rank = layout.inner_grid.rank();
    std::vector<uint64_t> slice(rank > 2 ? rank - 2 : 0, 0);
    const auto image = context_.found.images.find(of_.path);
    const PlaneHints hints = image == context_.found.images.end()
                                 ? PlaneHints{}
                                 : image->second.HintsFor(node_->array()->shape);
    const auto plane = ChoosePlane(*node_->array(), layout, hints, context_.budget.limits());
    for (size_t axis = 0; plane && axis < slice.size(); ++axis) {
      const bool is_channels = plane->channel_axis == axis;
      slice[axis] = (is_channels ? plane->channels.front() : plane->at[axis]) /
                    layout.inner_chunk_shape[axis];
    }
    return slice;
  }

  void AddMap() {
    const ChunkSource& source = *node_->chunks;
    if (source.layout().inner_grid.size() <= 1) return;
    if (context_.budget.is_over()) {
      html_ += "<p class=\"note\">chunks: not examined: time ran out</p>\n";
      return;
    }
    Progress progress("object", false);
    const std::vector<uint64_t>& counts = source.layout().inner_grid.counts();
    const size_t rank = counts.size();
    // A map of a slice with a single chunk would show nothing. In that case, the map shows all
    // chunks of the array, for example those of all time steps.
    const bool is_whole = rank > 2 && counts[rank - 1] * counts[rank - 2] == 1;
    const auto map = MakeChunkMap(source, is_whole ? std::vector<uint64_t>() : SliceOfMap(),
                                  {.by = MapBy::kSize,
                                   .max_rows = kChunkPictureCells,
                                   .max_columns = is_whole ? kFoldedColumns : kChunkPictureCells,
                                   .whole = is_whole,
                                   .is_over = context_.budget.EndOf(kForMap)},
                                  progress, [this](const Error& error) { AddFailure(error); });
    if (!map) return AddFailure(map.error());
    if (map->places <= 1 && map->damaged == 0) return;
    const Pixels pixels = DrawChunks(*map);
    std::string caption;
    for (const std::string& line : SummariseMap(source.layout(), *map)) {
      caption += fmt::format("<span>{}</span> ", EscapeHtml(line));
    }
    if (is_whole) caption += "<span>all chunks, in reading order</span> ";
    if (rank > 2 && !is_whole) {
      std::string slice;
      for (const uint64_t chunk : map->slice) slice += fmt::format("{}, ", chunk);
      caption += fmt::format("<span>of the slice {}*, *</span> ", slice);
    }
    if (!map->is_complete) caption += "<span>the rest was not examined</span> ";
    html_ += fmt::format(
        "<figure>{}<figcaption>{}</figcaption></figure>\n",
        ImageHtml(PngAddress(pixels), pixels.width, pixels.height, 1, "which chunks are stored"),
        caption);
  }

  void AddViews() {
    const ArrayMetadata& metadata = *node_->array();
    const bool is_raster =
        metadata.rank() > 0 &&
        (ElementNumbers::Of(metadata.data_type).has_value() || metadata.data_type.is_complex());
    ViewPaths paths(AllViews().size());
    std::string rows;
    for (size_t v = 0; v < AllViews().size(); ++v) {
      const bool needs_look = node_->views[v].has_texts;
      std::string text = "transcoded: strings, which were not examined";
      bool is_shown = true;
      if (!needs_look || !context_.budget.is_over()) {
        const ViewSummary summary = DescribeView(context_.hierarchy, *node_, v);
        is_shown = summary.shown != nullptr;
        text = summary.text;
      }
      const bool is_file = AllViews()[v]->file_of() != FileOf::kNothing;
      if (is_shown && !is_file) paths[v] = of_.path;
      if (is_shown && AllViews()[v]->file_of() == FileOf::kArrays) paths[v] = FilePath(v);
      rows +=
          fmt::format("<tr{}><th>{}</th><td class=\"for\">{}</td><td>{}</td></tr>\n",
                      is_shown ? "" : " class=\"not\"", AllViews()[v]->name(),
                      EscapeHtml(AllViews()[v]->readers()), Bdi(Shortened(text, kMaxReasonLength)));
    }
    html_ +=
        "<div class=\"wide\"><table class=\"views\">\n<tr><th>view</th><th class=\"for\">for</th>"
        "<th>contents</th></tr>\n" +
        rows + "</table></div>\n";
    AddDetails("lines to copy",
               LinesHtml(LinesForArray(context_.places, of_.path, paths, is_raster)));
  }

  void AddDetails(std::string_view title, const std::string& html) {
    if (html.empty()) return;
    html_ += fmt::format("<details><summary>{}</summary>\n{}</details>\n", title, html);
  }

  const PageContext& context_;
  const size_t number_;
  const PageNode& of_;
  const Node* const node_;
  std::string html_;
  Section made_;
};

}  // namespace

std::string SectionId(size_t number) { return fmt::format("n{}", number); }

std::string LinesHtml(const std::vector<CopyLine>& lines) {
  std::string html;
  for (const CopyLine& line : lines) {
    html += fmt::format("<p class=\"program\">{}</p><pre>{}</pre>\n", EscapeHtml(line.program),
                        EscapeHtml(line.line));
  }
  return html;
}

Section MakeSection(const PageContext& context, size_t number, const Node* node) {
  return SectionMaker(context, number, node).Make();
}

}  // namespace zarrfs::ctl
