#include "tools/zarrctl/overview.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "tools/zarrctl/output.h"
#include "zarrcore/base/checked.h"
#include "zarrcore/base/printable.h"

namespace zarrfs::ctl {
namespace {

constexpr size_t kRowsAtOnce = 40;
constexpr std::chrono::milliseconds kMaxWait{200};
constexpr size_t kWidestColumn = 48;  // longer cells shift the rest of their line
constexpr size_t kMaxAttribute = 60;  // in bytes
// The maximum number of arrays that are named for one reason why a view omits them. Further arrays
// are only counted.
constexpr size_t kNamesPerReason = 4;
// The maximum number of reasons per view. Arrays omitted for further reasons are only counted.
constexpr size_t kReasonsPerView = 10;
// The maximum number of lines that AddLeftOut() stores. Further lines are only counted.
constexpr size_t kMaxLeftOut = 20;

std::string NameText(const Node& node) { return node.path.empty() ? "/" : Visible(node.path); }

// The shape and dimensions of an array in words: "96x181x360 (time, latitude, longitude)".
std::string ShapeText(const ArrayMetadata& metadata) {
  std::string text =
      metadata.shape.empty() ? "scalar" : fmt::format("{}", fmt::join(metadata.shape, "x"));
  if (!metadata.dimension_names || metadata.shape.empty()) return text;
  std::vector<std::string> names;
  for (const auto& name : *metadata.dimension_names) names.push_back(Visible(name.value_or("-")));
  return fmt::format("{} ({})", text, fmt::join(names, ", "));
}

std::string ChunksText(const ArrayLayout& layout) {
  std::string text = CountText(layout.inner_grid.size(), "chunk");
  if (layout.is_sharded()) text += " in " + CountText(layout.outer_grid.size(), "shard");
  return text;
}

size_t Columns(std::string_view text) {  // the number of characters of a UTF-8 string
  return static_cast<size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

}  // namespace

std::string DecodedSizeText(const ArrayMetadata& metadata) {
  std::optional<uint64_t> bytes = metadata.data_type.item_size;
  for (const uint64_t extent : metadata.shape) {
    if (bytes) bytes = CheckedMul(*bytes, extent);
  }
  return !bytes || metadata.data_type.item_size == 0 ? "" : SizeText(*bytes);
}

std::string AttributeText(const ArrayMetadata& metadata, std::string_view name) {
  const auto found = metadata.attributes.find(name);
  if (found == metadata.attributes.end() || !found->is_string()) return "";
  std::string text = found->get<std::string>();
  if (text.size() > kMaxAttribute) {
    size_t end = kMaxAttribute;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
    text = text.substr(0, end) + "...";
  }
  return Visible(text);
}

Overview::Overview(Printer print)
    : print_(std::move(print)),
      flushed_(std::chrono::steady_clock::now()),
      gaps_(AllViews().size()) {}

void Overview::AddArray(const Node& array, const std::vector<ViewSummary>& views,
                        const StoredChunks& stored) {
  ++arrays_;
  const ArrayMetadata& metadata = *array.array();
  AddRow({NameText(array), Visible(metadata.data_type.name), ShapeText(metadata),
          ChunksText(array.chunks->layout()), DecodedSizeText(metadata),
          AttributeText(metadata, "units"), AttributeText(metadata, "long_name")});
  for (size_t v = 0; v < views.size(); ++v) {
    if (views[v].shown == nullptr) AddGap(gaps_[v], NameText(array), Visible(views[v].reason));
  }
  if (stored.problem_count == 0) return;
  const auto& [key, error] = stored.problems.front();
  AddProblem(
      key, "not read:",
      WithoutKey(error.message, key) +
          (stored.problem_count == 1 ? ""
                                     : fmt::format(" (and {}; zarrctl verify lists them)",
                                                   CountText(stored.problem_count - 1, "other"))));
}

void Overview::AddOther(const Node& node) {
  if (const Error* error = node.unusable()) {
    const ArrayMetadata* metadata = node.array();
    const std::string key = metadata == nullptr ? JoinKey(node.path, node.document) : node.path;
    const std::string reason =
        Paint("not shown:", Style::kYellow) + " " + Visible(WithoutKey(error->message, key));
    if (metadata == nullptr) return AddRow({NameText(node), reason});
    ++unusable_;
    return AddRow(
        {NameText(node), Visible(metadata->data_type.name), ShapeText(*metadata), reason});
  }
  ++groups_;
  for (size_t v = 0; v < AllViews().size(); ++v) {
    for (const std::string& note : node.views[v].notes) AddLeftOut(node.path, v, note);
  }
}

void Overview::AddEmpty(const Node& group) { AddRow({NameText(group), "group, empty"}); }

void Overview::AddProblem(std::string_view path, std::string_view words, std::string_view reason) {
  AddRow({Visible(path), Paint(words, Style::kYellow) + " " + Visible(reason)});
}

void Overview::AddLeftOut(std::string_view group, size_t view, std::string_view note) {
  if (left_out_.size() == kMaxLeftOut) {
    ++further_left_out_;
    return;
  }
  left_out_.push_back(fmt::format("{}{}: {}", AllViews()[view]->name(),
                                  group.empty() ? "" : fmt::format(" of {}", Visible(group)),
                                  Visible(note)));
}

void Overview::AddRow(std::vector<std::string> row) {
  rows_.push_back(std::move(row));
  if (rows_.size() >= kRowsAtOnce || std::chrono::steady_clock::now() - flushed_ >= kMaxWait) {
    Flush();
  }
}

void Overview::Flush() {
  if (!rows_.empty()) print_([this] { PrintRows(); });
  rows_.clear();
  flushed_ = std::chrono::steady_clock::now();
}

void Overview::PrintRows() {
  for (const auto& row : rows_) {
    widths_.resize(std::max(widths_.size(), row.size()));
    for (size_t i = 0; i + 1 < row.size(); ++i) {
      widths_[i] = std::max(widths_[i], std::min(Columns(row[i]), kWidestColumn));
    }
  }
  for (const auto& row : rows_) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      line += i == 0 ? Paint(row[i], Style::kBold) : row[i];
      if (i + 1 == row.size()) break;
      line.append(widths_[i] - std::min(Columns(row[i]), widths_[i]) + 2, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    Write(line + "\n");
  }
  std::fflush(stdout);
}

void Overview::AddGap(ViewGaps& gaps, const std::string& name, const std::string& reason) {
  ++gaps.count;
  auto found = std::ranges::find(gaps.reasons, reason, &Missing::reason);
  if (found == gaps.reasons.end()) {
    if (gaps.reasons.size() == kReasonsPerView) {
      ++gaps.further;
      return;
    }
    found = gaps.reasons.insert(found, Missing{.reason = reason, .names = {}});
  }
  if (found->names.size() < kNamesPerReason) found->names.push_back(name);
  ++found->count;
}

std::string Overview::Text(const ViewGaps& gaps) {
  std::string text;
  for (const Missing& missing : gaps.reasons) {
    const uint64_t more = missing.count - missing.names.size();
    text += fmt::format("\n    {}{}: {}", fmt::join(missing.names, ", "),
                        more == 0 ? "" : fmt::format(" and {} more", GroupedText(more)),
                        missing.reason);
  }
  if (gaps.further > 0) {
    text += fmt::format("\n    and {} for other reasons", CountText(gaps.further, "array"));
  }
  return text;
}

void Overview::Finish() {
  Flush();
  Print("\n{}{}{}\n", CountText(arrays_, "array"),
        groups_ > 1 ? fmt::format(" in {}", CountText(groups_, "group")) : "",
        unusable_ > 0 ? fmt::format(", and {} that no view can show", GroupedText(unusable_)) : "");
  // Views that omit the same arrays for the same reasons share a line.
  std::vector<std::pair<std::string, std::vector<std::string_view>>> views;
  std::vector<uint64_t> counts;
  for (size_t v = 0; arrays_ > 0 && v < gaps_.size(); ++v) {
    std::string text = Text(gaps_[v]);
    auto found = std::ranges::find(views, text, &decltype(views)::value_type::first);
    if (found == views.end()) {
      found = views.emplace(found, std::move(text), std::vector<std::string_view>());
      counts.push_back(gaps_[v].count);
    }
    found->second.push_back(AllViews()[v]->name());
  }
  for (size_t i = 0; i < views.size(); ++i) {
    const auto& [text, names] = views[i];
    const std::string_view verb = names.size() == 1 ? "lacks" : "lack";
    if (counts[i] == 0) {
      Print("All of them in {}.\n", fmt::join(names, ", "));
    } else {
      Print("{} {} {}:{}\n", fmt::join(names, ", "), verb,
            counts[i] == arrays_ ? "all of them" : CountText(counts[i], "array"), text);
    }
  }
  for (const std::string& line : left_out_) Print("{}\n", Paint(line, Style::kYellow));
  if (further_left_out_ > 0) {
    Print("and {} (info -l lists them)\n", CountText(further_left_out_, "further note"));
  }
}

}  // namespace zarrfs::ctl
