#include "tools/zarrctl/page/page.h"

#include <fmt/chrono.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "tools/zarrctl/interrupt.h"
#include "tools/zarrctl/output.h"
#include "tools/zarrctl/output_file.h"
#include "tools/zarrctl/page/budget.h"
#include "tools/zarrctl/page/copy_lines.h"
#include "tools/zarrctl/page/html.h"
#include "tools/zarrctl/page/page_nodes.h"
#include "tools/zarrctl/page/sections.h"
#include "tools/zarrctl/page/style.h"
#include "tools/zarrctl/progress.h"
#include "zarrcore/base/printable.h"

namespace zarrfs::ctl {
namespace {

namespace fs = std::filesystem;

constexpr size_t kLongestPageName = 200;
constexpr size_t kLongestTreeLabel = 200;
constexpr size_t kLongestAddress = 1000;

constexpr std::string_view kHead = R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
)";

constexpr std::string_view kLegend =
    "<p class=\"legend\"><span>maps of chunks:</span>"
    "<span><i style=\"background:linear-gradient(90deg,#440154,#21918c,#fde725)\"></i>"
    "stored, small to large</span>"
    "<span><i style=\"background:#f4f1ea\"></i>not stored</span>"
    "<span><i style=\"background:#c8c8c8\"></i>no shard</span>"
    "<span><i style=\"background:#d61f26\"></i>damaged or unreadable, also in "
    "pictures</span></p>\n";

class Page {
 public:
  Page(const TargetNode& target, const InfoOptions& options)
      : target_(target),
        options_(options),
        places_{.store = target.source.text(),
                .mount_options = options.mount_options,
                .mount = MountPointFor(target.source.text()),
                .is_folder = !target.source.needs_fetcher() && target.ZipFile().empty() &&
                             target.source.Locate().layer == nullptr} {}

  std::string Make() {
    {
      Progress progress("node");
      progress.Begin();
      const std::function<void()> on_node = [&] { progress.AddDone(); };
      found_ = FindPageNodes(*target_.hierarchy, target_.node, budget_, on_node);
    }
    const std::string sections = Sections();
    return Header() + Tree() + sections + "</body>\n</html>\n";
  }

  [[nodiscard]] size_t nodes() const { return found_.nodes.size(); }
  [[nodiscard]] uint64_t pictures() const { return pictures_; }
  [[nodiscard]] uint64_t damaged() const { return damaged_; }
  /// Whether something could not be read now.
  [[nodiscard]] bool is_unreadable() const { return is_unreadable_; }

 private:
  std::string Sections() {
    Progress progress("node");
    progress.Begin(found_.nodes.size());
    has_section_.resize(found_.nodes.size());
    // The tree comes first.
    is_full_ = !budget_.TakeText(Tree().size() + found_.nodes.size() * kTagBytes);
    PageContext context{*target_.hierarchy, found_, places_, budget_, options_.has_pictures};
    for (const Error& error : found_.failures) Count(error);
    std::string html;
    for (size_t i = 0; i < found_.nodes.size() && !is_full_ && !StopRequested(); ++i) {
      const auto node = budget_.is_over() ? Fail(ErrorCode::kWouldBlock, "")
                                          : target_.hierarchy->Get(found_.nodes[i].path, kAnyAge);
      const Section section = MakeSection(context, i, node ? node->get() : nullptr);
      for (const Error& error : section.failures) Count(error);
      const uint64_t text = section.html.size() - section.picture_bytes;
      if (!budget_.TakeText(text)) {
        is_full_ = true;
        break;
      }
      if (section.has_picture && !budget_.TakePicture(section.picture_bytes)) {
        context.has_pictures = false;
        context.why_no_pictures = "not looked at: the page is full";
        html += MakeSection(context, i, node ? node->get() : nullptr).html;
      } else {
        html += section.html;
        pictures_ += section.has_picture ? 1 : 0;
      }
      has_section_[i] = true;
      progress.AddDone();
    }
    return html;
  }

  // What cannot be read now makes the answer incomplete; damage is part of the answer.
  void Count(const Error& error) {
    ++damaged_;
    if (!IsDamage(error)) is_unreadable_ = true;
  }

  [[nodiscard]] std::string Header() const {
    std::string name(NameOf(target_.source.text()));
    if (name.empty()) name = target_.source.text();
    name = Shortened(name, kLongestPageName);
    const std::time_t now = std::time(nullptr);
    std::string html = fmt::format(
        "{}<title>{}</title>\n<style>{}</style>\n</head>\n<body>\n<h1><bdi>{}</bdi></h1>\n", kHead,
        EscapeHtml(name), kPageStyle, EscapeHtml(name));
    html += fmt::format("<p class=\"dim\"><bdi>{}</bdi>, as of {:%Y-%m-%d %H:%M} UTC</p>\n",
                        EscapeHtml(Shortened(target_.source.text(), kLongestAddress)),
                        fmt::gmtime(now));
    size_t arrays = 0;
    for (const PageNode& node : found_.nodes) arrays += node.is_array ? 1 : 0;
    html += fmt::format("<p>{}, {}</p>\n", CountText(arrays, "array"),
                        CountText(found_.nodes.size() - arrays, "group"));
    return html + "<details><summary>lines to mount it</summary>\n" +
           LinesHtml(LinesToMount(places_)) + "</details>\n" + kLegend.data();
  }

  [[nodiscard]] std::string Tree() const {
    std::string html = "<nav>\n<ul>\n";
    size_t depth = 0;
    for (size_t i = 0; i < found_.nodes.size(); ++i) {
      const PageNode& node = found_.nodes[i];
      if (i > 0 && node.depth > depth) html += "\n<ul>\n";
      if (i > 0 && node.depth <= depth) html += "</li>\n";
      for (; depth > node.depth; --depth) html += "</ul></li>\n";
      depth = node.depth;
      html += "<li>" + TreeLine(i);
    }
    for (; depth > 0; --depth) html += "</li>\n</ul>";
    html += "</li>\n</ul>\n";
    if (!found_.why_not_all.empty()) {
      html += fmt::format("<p class=\"warn\">the rest was not looked at: {}</p>\n",
                          EscapeHtml(found_.why_not_all));
    }
    if (is_full_) {
      html += "<p class=\"warn\">nodes without a link were not looked at: the page is full</p>\n";
    }
    return html + "</nav>\n";
  }

  [[nodiscard]] std::string TreeLine(size_t number) const {
    const PageNode& node = found_.nodes[number];
    std::string name = "/";
    if (number == 0 && !node.path.empty()) name = node.path;
    if (number > 0) name = NameOf(node.path);
    name = fmt::format("<bdi>{}</bdi>", EscapeHtml(Shortened(name, kLongestPageName)));
    if (number < has_section_.size() && has_section_[number]) {
      name = fmt::format("<a href=\"#{}\">{}</a>", SectionId(number), name);
    }
    if (!node.problem.empty()) return name + "<span class=\"label\">cannot be used</span>";
    if (node.label.empty()) return name;
    return fmt::format("{}<span class=\"label\"><bdi>{}</bdi></span>", name,
                       EscapeHtml(Shortened(node.label, kLongestTreeLabel)));
  }

  static constexpr size_t kTagBytes = 32;  // of a link

  const TargetNode& target_;
  const InfoOptions& options_;
  const CopyPlaces places_;
  PageBudget budget_;
  PageNodes found_;
  std::vector<bool> has_section_;
  bool is_full_ = false;
  uint64_t pictures_ = 0;
  uint64_t damaged_ = 0;
  bool is_unreadable_ = false;
};

}  // namespace

Result<std::string> MakeRoomForPage(InfoOptions& options) {
  std::error_code error;
  const fs::path file = fs::absolute(options.html, error).lexically_normal();
  if (fs::exists(file, error) && !fs::is_regular_file(file, error)) {
    return Fail(ErrorCode::kInvalidArgument, "--html {}: not a file", options.html);
  }
  options.html = file.string();
  std::string folder = file.parent_path().string();
  RemoveAbandonedFiles(folder);
  return folder;
}

int WritePage(const TargetNode& target, const InfoOptions& options) {
  const StopOnInterrupt on_interrupt;
  // (Before the work: perhaps nothing can be written there.)
  auto file = OutputFile::Create(fs::path(options.html).parent_path().string());
  if (!file) return Complain(file.error().message + "; use another --html", kExitSystem);
  Page page(target, options);
  const std::string html = page.Make();
  if (StopRequested()) return kExitCtrlC;
  auto written = file->Append(html);
  if (written) written = file->CommitAs(options.html);
  if (!written) return Complain(written.error().message, kExitSystem);
  Print("written: {} ({}, {}, {})\n", Visible(options.html), CountText(page.nodes(), "node"),
        CountText(page.pictures(), "picture"), SizeText(html.size()));
  if (page.is_unreadable()) {
    return Complain("not everything could be read; the reasons are on the page", kExitSystem);
  }
  return kExitOk;
}

}  // namespace zarrfs::ctl
