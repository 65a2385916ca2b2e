#include "tools/zarrctl/page/page.h"

#include <fmt/chrono.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <future>
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
#include "zarrcore/base/mutex.h"
#include "zarrcore/base/printable.h"

namespace zarrfs::ctl {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxPageNameLength = 200;
constexpr size_t kMaxTreeLabelLength = 200;
constexpr size_t kMaxAddressLength = 1000;

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
  Page(const TargetNode& target, const InfoOptions& options, const PageLimits& limits)
      : target_(target),
        options_(options),
        places_{.store = target.source.text(),
                .mount_options = options.mount_options,
                .mount = MountPointFor(target.source.text()),
                .is_folder = !target.source.needs_fetcher() && target.ContainerFile().empty() &&
                             target.source.Locate().layer == nullptr},
        budget_(limits) {}

  /// Examines the store and adds the results to the page. Another thread may call Get()
  /// concurrently.
  void Make() {
    {
      Progress progress("node");
      progress.Begin();
      const std::function<void()> on_node = [&] { progress.AddDone(); };
      FindPageNodes(*target_.hierarchy, target_.node, budget_, on_node, found_, mutex_);
    }
    MakeSections();
  }

  struct Html {
    std::string text;
    size_t nodes = 0;
    uint64_t pictures = 0;
    bool is_unreadable = false;  // true if something could not be read
  };
  /// Returns the page with all results so far. `is_late`: the store has stopped answering.
  [[nodiscard]] Html Get(bool is_late) {
    const MutexLock lock(mutex_);
    is_late_ = is_late;
    return {Header() + Tree() + sections_ + "</body>\n</html>\n", found_.nodes.size(), pictures_,
            is_unreadable_};
  }

 private:
  // Prepares everything except the sections of the page. Returns false if the budget leaves no room
  // for sections.
  [[nodiscard]] bool Begin() {
    const MutexLock lock(mutex_);
    has_section_.resize(found_.nodes.size());
    // Reserves space for the tree of nodes before any section can use it.
    is_full_ = !budget_.TakeText(Tree().size() + found_.nodes.size() * kTagBytes);
    for (const Error& error : found_.failures) Count(error);
    return !is_full_;
  }

  void MakeSections() {
    Progress progress("node");
    progress.Begin(found_.nodes.size());
    if (!Begin()) return;
    PageContext context{*target_.hierarchy, found_, places_, budget_, options_.has_pictures};
    for (size_t i = 0; i < found_.nodes.size() && !StopRequested(); ++i) {
      const auto node = budget_.is_over() ? Fail(ErrorCode::kWouldBlock, "")
                                          : target_.hierarchy->Get(found_.nodes[i].path, kAnyAge);
      Section section = MakeSection(context, i, node ? node->get() : nullptr);
      const uint64_t text = section.html.size() - section.picture_bytes;
      if (!budget_.TakeText(text)) {
        const MutexLock lock(mutex_);
        is_full_ = true;
        break;
      }
      if (section.has_picture && !budget_.TakePicture(section.picture_bytes)) {
        context.has_pictures = false;
        context.why_no_pictures = "not examined: the page is full";
        section = MakeSection(context, i, node ? node->get() : nullptr);
      }
      Add(i, section);
      progress.AddDone();
    }
  }

  void Add(size_t number, const Section& section) {
    const MutexLock lock(mutex_);
    for (const Error& error : section.failures) Count(error);
    sections_ += section.html;
    pictures_ += section.has_picture ? 1 : 0;
    has_section_[number] = true;
  }

  // Sets is_unreadable_ if data could not be read. Damage does not set it, because damage is a
  // result.
  void Count(const Error& error) REQUIRES(mutex_) {
    if (!IsDamage(error)) is_unreadable_ = true;
  }

  [[nodiscard]] std::string Header() const REQUIRES(mutex_) {
    std::string name(NameOf(target_.source.text()));
    if (name.empty()) name = target_.source.text();
    name = Shortened(name, kMaxPageNameLength);
    const std::time_t now = std::time(nullptr);
    std::string html = fmt::format(
        "{}<title>{}</title>\n<style>{}</style>\n</head>\n<body>\n<h1><bdi>{}</bdi></h1>\n", kHead,
        EscapeHtml(name), kPageStyle, EscapeHtml(name));
    html += fmt::format("<p class=\"dim\"><bdi>{}</bdi>, as of {:%Y-%m-%d %H:%M} UTC</p>\n",
                        EscapeHtml(Shortened(target_.source.text(), kMaxAddressLength)),
                        fmt::gmtime(now));
    size_t arrays = 0;
    for (const PageNode& node : found_.nodes) arrays += node.is_array ? 1 : 0;
    html += fmt::format("<p>{}, {}</p>\n", CountText(arrays, "array"),
                        CountText(found_.nodes.size() - arrays, "group"));
    return html + "<details><summary>lines to mount it</summary>\n" +
           LinesHtml(LinesToMount(places_)) + "</details>\n" + kLegend.data();
  }

  [[nodiscard]] std::string Tree() const REQUIRES(mutex_) {
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
      html += fmt::format("<p class=\"warn\">the rest was not examined: {}</p>\n",
                          EscapeHtml(found_.why_not_all));
    }
    if (is_late_) {
      html +=
          "<p class=\"warn\">nodes without a link were not examined: the store stopped "
          "answering</p>\n";
    }
    if (is_full_) {
      html += "<p class=\"warn\">nodes without a link were not examined: the page is full</p>\n";
    }
    return html + "</nav>\n";
  }

  [[nodiscard]] std::string TreeLine(size_t number) const REQUIRES(mutex_) {
    const PageNode& node = found_.nodes[number];
    std::string name = "/";
    if (number == 0 && !node.path.empty()) name = node.path;
    if (number > 0) name = NameOf(node.path);
    name = fmt::format("<bdi>{}</bdi>", EscapeHtml(Shortened(name, kMaxPageNameLength)));
    if (number < has_section_.size() && has_section_[number]) {
      name = fmt::format("<a href=\"#{}\">{}</a>", SectionId(number), name);
    }
    if (!node.problem.empty()) return name + "<span class=\"label\">cannot be used</span>";
    if (node.label.empty()) return name;
    return fmt::format("{}<span class=\"label\"><bdi>{}</bdi></span>", name,
                       EscapeHtml(Shortened(node.label, kMaxTreeLabelLength)));
  }

  static constexpr size_t kTagBytes = 32;  // the size of the HTML of a link to a section

  const TargetNode& target_;
  const InfoOptions& options_;
  const CopyPlaces places_;
  PageBudget budget_;
  Mutex mutex_;
  PageNodes found_;  // only Make() changes it, under mutex_, so Make() reads it without a lock
  std::string sections_ GUARDED_BY(mutex_);
  std::vector<bool> has_section_ GUARDED_BY(mutex_);
  bool is_full_ GUARDED_BY(mutex_) = false;
  bool is_late_ GUARDED_BY(mutex_) = false;
  uint64_t pictures_ GUARDED_BY(mutex_) = 0;
  bool is_unreadable_ GUARDED_BY(mutex_) = false;
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

namespace {

// Writes the page. Returns the exit code.
int WriteHtml(const Page::Html& html, OutputFile& file, const InfoOptions& options) {
  auto written = file.Append(html.text);
  if (written) written = file.CommitAs(options.html);
  if (!written) return Complain(written.error().message, kExitSystem);
  Print("written: {} ({}, {}, {})\n", Visible(options.html), CountText(html.nodes, "node"),
        CountText(html.pictures, "picture"), SizeText(html.text.size()));
  return kExitOk;
}

}  // namespace

int WritePage(const TargetNode& target, const InfoOptions& options, const PageLimits& limits) {
  const StopOnInterrupt on_interrupt;
  // Creates the file before the page is made, so an unwritable folder is reported immediately.
  auto file = OutputFile::Create(fs::path(options.html).parent_path().string());
  if (!file) return Complain(file.error().message + "; use another --html", kExitSystem);
  Page page(target, options, limits);
  auto made = std::async(std::launch::async, [&page] { page.Make(); });
  if (made.wait_for(limits.time + limits.last_answer) == std::future_status::timeout) {
    if (Progress::IsSeen()) std::fputs("\n", stderr);
    const int code = WriteHtml(page.Get(/*is_late=*/true), *file, options);
    if (code == kExitOk) {
      Complain("the store stopped answering: the page has what was read before", kExitSystem);
    }
    // Ends the process, because a call to the store that has not returned cannot be cancelled.
    std::_Exit(FinishOutput(kExitSystem));
  }
  made.get();
  if (StopRequested()) return kExitCtrlC;
  const Page::Html html = page.Get(/*is_late=*/false);
  const int code = WriteHtml(html, *file, options);
  if (code == kExitOk && html.is_unreadable) {
    return Complain("not everything could be read; the reasons are on the page", kExitSystem);
  }
  return code;
}

}  // namespace zarrfs::ctl
