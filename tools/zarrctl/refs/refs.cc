#include <fcntl.h>
#include <utf8.h>

#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "tools/zarrctl/commands.h"
#include "tools/zarrctl/describe.h"
#include "tools/zarrctl/interrupt.h"
#include "tools/zarrctl/output.h"
#include "tools/zarrctl/output_file.h"
#include "tools/zarrctl/progress.h"
#include "tools/zarrctl/refs/array_references.h"
#include "tools/zarrctl/refs/reference_writer.h"
#include "tools/zarrctl/target.h"
#include "zarrcore/base/printable.h"
#include "zarrcore/open/source.h"

namespace zarrfs::ctl {
namespace {

namespace fs = std::filesystem;

bool IsParquet(const std::string& out) { return !out.ends_with(".json"); }

class References {
 public:
  References(const TargetNode& target, const RefsOptions& options, ObjectUrls urls,
             ReferenceWriter& writer)
      : target_(target),
        urls_(std::move(urls)),
        writer_(writer),
        view_(*ViewNumber(options.view)),
        max_decoded_(options.inline_decoded) {}

  Result<void> Make() {
    progress_.Begin();
    if (auto walked = Walk(target_.node); !walked) return walked;
    if (auto added = AddConsolidated(); !added) return added;
    return writer_.Finish();
  }

  void Summarise(const std::string& out) {
    progress_.End();
    Print("{}: {}, {} references", Visible(out), CountText(arrays_, "array"),
          GroupedText(counts_.chunks));
    if (counts_.inlined > 0) Print(", {} of them with the bytes", GroupedText(counts_.inlined));
    Print("\n");
    if (unchecked_ == 0) return;
    Print(
        "{} a checksum that references leave out: readers of the references cannot detect damage; "
        "zarrctl verify can\n",
        CountText(unchecked_, "array") + (unchecked_ == 1 ? " has" : " have"));
  }
  [[nodiscard]] bool is_whole() const { return left_out_ == 0; }
  void HideProgress() { progress_.End(); }

 private:
  struct Kept {
    std::string path;
    std::vector<Document> documents;
  };

  // Returns a node's path relative to the top node of the references.
  [[nodiscard]] std::string Relative(const std::string& path) const {
    const std::string& top = target_.node->path;
    return path.substr(top.empty() || path.size() == top.size() ? top.size() : top.size() + 1);
  }

  void LeaveOut(const Node& node, const std::string& reason) {
    ++left_out_;
    progress_.Hide();
    Complain(fmt::format("{}: left out: {}", Visible(target_.FileOf(node.path)), Visible(reason)));
  }

  // Returns why the references omit the node; "" if they include it.
  [[nodiscard]] std::string WhyHidden(const Node& node) const {
    const std::string path = Relative(node.path);
    if (!utf8::is_valid(path)) return "its name is not UTF-8";
    if (const auto& hidden = node.views[view_].hidden) return hidden->message;
    const std::string name(NameOf(path));
    if (!Hierarchy::Shows(node, name, view_)) return "its readers take the name for metadata";
    return "";
  }

  Result<void> Walk(const NodePtr& node) {
    if (StopRequested()) return Fail(ErrorCode::kInterrupted, "interrupted by Ctrl-C");
    if (const Error* error = node->unreadable()) return tl::unexpected(*error);
    if (const std::string reason = WhyHidden(*node); !reason.empty()) {
      LeaveOut(*node, reason);
      return {};
    }
    if (node->chunks != nullptr) return AddArray(*node);
    if (auto added = AddDocuments(*node); !added) return added;
    const auto children = target_.hierarchy->Children(*node, kAnyAge);
    if (!children) return Fail(children);
    for (const std::string& name : children->value) {
      const auto child = target_.hierarchy->Get(JoinKey(node->path, name), kAnyAge);
      if (!child) return Fail(child);
      if (auto walked = Walk(*child); !walked) return walked;
    }
    return AddFiles(*node);
  }

  // Adds references to the files of an OME group.
  Result<void> AddFiles(const Node& group) {
    if (!AllViews()[view_]->shows_files()) return {};
    const auto files = target_.hierarchy->Files(group, kAnyAge);
    if (!files) return Fail(files);
    for (const std::string& name : files->value) {
      const auto file = target_.hierarchy->Get(JoinKey(group.path, name), kAnyAge);
      if (!file) return Fail(file);
      const std::string path = Relative((*file)->path);
      if (!utf8::is_valid(path)) {
        LeaveOut(**file, "its name is not UTF-8");
        continue;
      }
      const std::string url = urls_.Of((*file)->path);
      const auto begin = target_.hierarchy->store().OffsetInFile((*file)->path);
      if (!begin && begin.error().code == ErrorCode::kUnsupported) {
        LeaveOut(**file, "compressed in the zip file");
        continue;
      }
      if (!begin) return Fail(begin);
      const auto added =
          writer_.AddFile(path, {.url = url, .offset = *begin, .length = (*file)->info.size()});
      if (!added) return Fail(added);
      if (!*added) LeaveOut(**file, "Parquet references contain only arrays");
    }
    return {};
  }

  Result<void> AddArray(const Node& node) {
    const std::string path = Relative(node.path);
    const ReferencedArray array{path, node.chunks->layout().inner_grid,
                                node.views[view_].array->naming};
    if (const std::string reason = writer_.WhyNot(array); !reason.empty()) {
      LeaveOut(node, reason);
      return {};
    }
    if (auto begun = writer_.BeginArray(array); !begun) return begun;
    const auto made =
        ReferToChunks(target_.hierarchy->store(), node, view_, urls_, max_decoded_, writer_);
    if (!made) return Fail(made);
    if (!made->left_out.empty()) {
      LeaveOut(node, made->left_out);
      return writer_.DropArray();
    }
    ++arrays_;
    const bool is_cut = !node.views[view_].array->encoding.checksums.empty();
    if (is_cut || !WhatIsCheckedOfShards(node.chunks->layout()).empty()) ++unchecked_;
    progress_.AddDone(made->chunks);
    counts_.chunks += made->chunks;
    counts_.inlined += made->inlined;
    if (auto added = AddDocuments(node); !added) return added;
    return writer_.EndArray();
  }

  // Adds the metadata documents of a node, except the consolidated document, which comes last.
  Result<void> AddDocuments(const Node& node) {
    const NodeView& shown = node.views[view_];
    const std::string path = Relative(node.path);
    for (const Document& document : shown.documents) {
      if (path.empty() && document.name == shown.consolidated) continue;
      auto added = writer_.AddDocument(JoinKey(path, document.name), document.bytes);
      if (!added) return added;
    }
    if (++nodes_ <= kMaxConsolidated) {
      kept_.push_back({path, shown.documents});
    } else {
      kept_.resize(1);  // too many to consolidate; keeps only the top node
    }
    return {};
  }

  // Adds the consolidated document, made from the documents of all nodes with references. If there
  // are too many nodes, adds the top node's own document of that name, if it has one.
  Result<void> AddConsolidated() {
    const NodeView& shown = target_.node->views[view_];
    if (shown.consolidated.empty()) return {};
    if (nodes_ <= kMaxConsolidated) {
      std::vector<NodeBelow> nodes;
      for (const Kept& one : kept_) nodes.push_back({one.path, one.documents});
      return writer_.AddDocument(shown.consolidated, AllViews()[view_]->Consolidate(nodes));
    }
    for (const Document& document : shown.documents) {
      if (document.name != shown.consolidated) continue;
      return writer_.AddDocument(document.name, document.bytes);
    }
    return {};
  }

  static constexpr size_t kMaxConsolidated = 4096;  // the number of nodes, as in a mount

  const TargetNode& target_;
  const ObjectUrls urls_;
  ReferenceWriter& writer_;
  const size_t view_;
  const uint64_t max_decoded_;
  Progress progress_{"reference"};
  std::vector<Kept> kept_;  // the documents to consolidate
  size_t nodes_ = 0;
  uint64_t arrays_ = 0;
  uint64_t unchecked_ = 0;  // the number of arrays whose stored checksums the references omit
  uint64_t left_out_ = 0;
  ReferencesMade counts_;
};

// Returns the URLs of stored objects. All objects in a zip file have the URL of that file. The URL
// of an object in a folder consists of the URL of the folder and the object's key.
Result<ObjectUrls> UrlsOf(const TargetNode& target, const RefsOptions& options) {
  if (const std::string zip = target.ContainerFile(); !zip.empty()) {
    const std::string url = target.source.needs_fetcher() ? zip : "file://" + zip;
    return ObjectUrls(options.prefix.empty() ? url : options.prefix);
  }
  if (target.source.needs_fetcher()) {
    return ObjectUrls(options.prefix.empty() ? target.source.text() : options.prefix, "");
  }
  std::error_code error;
  const fs::path named = fs::canonical(options.store, error);
  if (error) return Fail(FromErrno(error.value()), "{}: {}", options.store, error.message());
  const std::string base = named.lexically_relative(target.source.text()).string();
  return ObjectUrls(options.prefix.empty() ? "file://" + named.string() : options.prefix,
                    base == "." ? "" : base);
}

}  // namespace

Result<std::string> MakeRoomForRefs(RefsOptions& options) {
  std::error_code error;
  const bool is_parquet = IsParquet(options.out);
  if (is_parquet && options.view != "v2") {
    return Fail(
        ErrorCode::kInvalidArgument,
        "readers of Parquet references support only Zarr v2; use --out FILE.json, or --view "
        "v2");
  }
  options.out = fs::absolute(options.out, error).lexically_normal().string();
  if (!is_parquet) {
    std::string folder = fs::path(options.out).parent_path().string();
    RemoveAbandonedFiles(folder);
    return folder;
  }
  if (options.out.ends_with('/')) options.out.pop_back();
  RemoveAbandonedFiles(options.out);
  if (fs::create_directory(options.out, error); !error && !fs::is_empty(options.out, error)) {
    return Fail(ErrorCode::kInvalidArgument, "{}: not empty; remove it or use another --out",
                options.out);
  }
  if (error) return Fail(FromErrno(error.value()), "{}: {}", options.out, error.message());
  return options.out;
}

int Refs(const RefsOptions& options) {
  HierarchyOptions shown;
  shown.forced_separator = options.separator.empty() ? '\0' : options.separator[0];
  shown.fill = options.fill == "keep" ? FillPolicy::kKeep : FillPolicy::kAuto;
  const auto target = FindNode(options.store, options.path, shown);
  if (!target) return Complain(target.error());
  const auto urls = UrlsOf(*target, options);
  if (!urls) return Complain(urls.error());
  if (target->node->is_file || target->node->views[*ViewNumber(options.view)].hidden) {
    const auto& hidden = target->node->views[*ViewNumber(options.view)].hidden;
    return Complain(hidden ? hidden->message : "not a group or array");
  }
  const StopOnInterrupt on_interrupt;
  const auto writer =
      IsParquet(options.out) ? OpenParquetReferences(options.out) : OpenJsonReferences(options.out);
  if (!writer) return Complain(writer.error());
  References references(*target, options, *urls, **writer);
  if (const auto made = references.Make(); !made) {
    references.HideProgress();
    const int code = Complain(made.error());
    return StopRequested() ? kExitCtrlC : code;
  }
  references.Summarise(options.out);
  return references.is_whole() ? kExitOk : kExitUnchecked;
}

}  // namespace zarrfs::ctl
