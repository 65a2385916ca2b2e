#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tools/zarrctl/commands.h"
#include "tools/zarrctl/describe.h"
#include "tools/zarrctl/output.h"
#include "tools/zarrctl/overview.h"
#include "tools/zarrctl/page/page.h"
#include "tools/zarrctl/progress.h"
#include "tools/zarrctl/stored_chunks.h"
#include "tools/zarrctl/target.h"
#include "zarrcore/base/printable.h"
#include "zarrcore/hierarchy/whole_files.h"
#include "zarrcore/icechunk/icechunk_store.h"

namespace zarrfs::ctl {
namespace {

// After this number of nodes, the files that views make from finished groups are examined, while
// the nodes are still cached.
constexpr size_t kNodesAtOnce = 1000;

// If a view adds more files than this for missing chunks, `info` prints a line about them.
constexpr uint64_t kManyFiles = 100'000;

enum class InfoForm { kOverview, kDetails, kJson };

// What `info` finds out about a node in addition to its metadata.
struct NodeFindings {
  std::vector<std::string> files;      // by view: the file made from the node; "" if none
  std::vector<ViewSummary> views;      // only for arrays
  std::optional<StoredChunks> stored;  // set if the array's chunks can be found

  NodeFindings(const Hierarchy& hierarchy, const Node& node, const Names& siblings, InfoForm form) {
    for (size_t v = 0; v < AllViews().size() && form != InfoForm::kOverview; ++v) {
      files.push_back(FileOfNode(hierarchy, node, v, siblings));
    }
    if (node.chunks == nullptr) return;
    bool has_fill_chunks = false;
    for (size_t v = 0; v < AllViews().size(); ++v) {
      views.push_back(DescribeView(hierarchy, node, v));
      has_fill_chunks = has_fill_chunks || views.back().has_fill_chunks();
    }
    const bool is_counted =
        form == InfoForm::kJson ||
        (form == InfoForm::kDetails && node.chunks->layout().inner_grid.size() > kManyFiles);
    stored = FindStoredChunks(
        hierarchy.store(), node,
        {.read_indexes = has_fill_chunks && is_counted, .add_sizes = form == InfoForm::kDetails});
  }
};

std::string DimensionsText(const ArrayMetadata& metadata) {
  if (!metadata.dimension_names) return "";
  std::vector<std::string> names;
  for (const auto& name : *metadata.dimension_names) names.push_back(name.value_or("-"));
  return fmt::format("({})", fmt::join(names, ", "));
}

void PrintLine(std::string_view label, std::string_view value) {
  Print("    {:<8} {}\n", label, Visible(value));
}

void PrintNotShown(std::string_view label, std::string_view reason) {
  Print("    {:<8} {}\n", label, Paint(Visible(reason), Style::kYellow));
}

// Returns the format of a node as its line shows it: "" for v3, which is the default.
std::string_view Format(const Node& node) { return node.is_v2() ? " (v2)" : ""; }

// Prints how many chunk files each view adds for missing chunks, if there are many.
void PrintFillFiles(const Node& node, const NodeFindings& findings) {
  const uint64_t files = node.chunks->layout().inner_grid.size();
  const StoredChunks& stored = *findings.stored;
  if (files - std::min(files, stored.count) <= kManyFiles) return;
  // The key is true for views that make these files even if they are mounted with fill=keep.
  std::map<bool, std::vector<std::string_view>> views;
  for (size_t v = 0; v < AllViews().size(); ++v) {
    if (!findings.views[v].has_fill_chunks()) continue;
    views[MakesFillChunksAnyway(node, v)].push_back(AllViews()[v]->name());
  }
  for (const auto& [anyway, names] : views) {
    PrintLine("files", fmt::format("{}: {} files in a listing or a copy, of which {}{} stored; {}",
                                   fmt::join(names, ", "), GroupedText(files),
                                   stored.is_complete ? "" : "at least ",
                                   stored.count == 1 ? "1 is" : GroupedText(stored.count) + " are",
                                   anyway ? "the others consist of fill values"
                                          : "fill=keep avoids the others, made of the fill value"));
  }
}

// Prints the first stored object of an array that cannot be used, and the number of others.
void PrintProblems(const StoredChunks& stored) {
  if (stored.problem_count == 0) return;
  const auto& [key, error] = stored.problems.front();
  PrintNotShown("not read",
                fmt::format("{}: {}{}", key, WithoutKey(error.message, key),
                            stored.problem_count == 1
                                ? ""
                                : fmt::format(" (and {}; zarrctl verify lists them)",
                                              CountText(stored.problem_count - 1, "other"))));
}

// Prints the decoded size and the stored size of an array.
void PrintSizes(const ArrayMetadata& metadata, const StoredChunks& stored) {
  const std::string decoded = DecodedSizeText(metadata);
  const std::string at_least = stored.has_all_sizes ? "" : "at least ";
  PrintLine("size", fmt::format("{}{}{} stored", decoded.empty() ? "" : decoded + " decoded, ",
                                at_least, SizeText(stored.bytes)));
}

// Prints the attributes that explain the array: its long name and units.
void PrintMeaning(const ArrayMetadata& metadata) {
  for (const std::string_view name : {"long_name", "units"}) {
    const std::string text = AttributeText(metadata, name);
    if (!text.empty()) Print("    {:<8} {}\n", name == "units" ? "units" : "is", text);
  }
}

void PrintArray(const Node& node, const NodeFindings& findings) {
  const ArrayMetadata& metadata = *node.array();
  if (const Error* error = node.unusable()) {
    PrintLine("chunks", DescribeOuterShape(metadata));
    PrintLine("codecs", DescribeCodecs(metadata.codecs));
    PrintNotShown("views", "not shown: " + error->message);
    return;
  }
  const ArrayLayout& layout = node.chunks->layout();
  PrintLine("chunks", fmt::format("{}, {} in all", DescribeShape(layout.inner_chunk_shape),
                                  layout.inner_grid.size()));
  if (layout.is_sharded()) {
    PrintLine(
        "shards",
        fmt::format(
            "{}, {} in all{}", DescribeOuterShape(metadata), layout.outer_grid.size(),
            layout.levels.size() == 1 ? "" : fmt::format(", {} levels", layout.levels.size())));
  }
  if (const std::string checked = WhatIsCheckedOfShards(layout); !checked.empty()) {
    PrintLine("", "each shard has a checksum, " + checked);
  }
  PrintLine("codecs", DescribeCodecs(layout.inner_codecs));
  PrintSizes(metadata, *findings.stored);
  const Json fill = FillValueJson(metadata);
  PrintLine("fill", fill.is_string() ? fill.get<std::string>() : Excerpt(fill));
  for (size_t v = 0; v < AllViews().size(); ++v) {
    const ViewSummary& summary = findings.views[v];
    std::string text = summary.text;
    if (!findings.files[v].empty()) text += "; the file is " + findings.files[v];
    (summary.shown != nullptr ? PrintLine : PrintNotShown)(AllViews()[v]->name(), text);
  }
  PrintFillFiles(node, findings);
  PrintProblems(*findings.stored);
}

void PrintNode(const Node& node, const NodeFindings& findings) {
  const std::string name = Paint(node.path.empty() ? "/" : Visible(node.path), Style::kBold);
  if (const ArrayMetadata* metadata = node.array()) {
    const std::string dimensions = Visible(DimensionsText(*metadata));
    Print("{}  array{}  {}  {}{}{}\n", name, Format(node), Visible(metadata->data_type.name),
          DescribeShape(metadata->shape), dimensions.empty() ? "" : "  ", dimensions);
    PrintMeaning(*metadata);
    PrintArray(node, findings);
  } else if (const Error* error = node.unusable()) {
    Print("{}  {} {}\n", name, Paint("not shown:", Style::kYellow),
          Visible(WithoutKey(error->message, JoinKey(node.path, node.document))));
  } else {
    Print("{}  group{}{}\n", name, Format(node),
          node.implicit ? " (without a zarr.json of its own)" : "");
    for (size_t v = 0; v < AllViews().size(); ++v) {
      if (!findings.files[v].empty()) {
        PrintLine(AllViews()[v]->name(), "the file is " + findings.files[v]);
      }
      for (const std::string& note : node.views[v].notes) {
        PrintNotShown(AllViews()[v]->name(), note);
      }
    }
  }
}

Json NodeJson(const Node& node, const NodeFindings& findings) {
  Json json = {
      {"path", node.path}, {"node_type", NodeType(node)}, {"zarr_format", node.is_v2() ? 2 : 3}};
  if (const Error* error = node.unusable()) json["reason"] = error->message;
  if (node.group() != nullptr) json["implicit"] = node.implicit;
  const ArrayMetadata* metadata = node.array();
  for (size_t v = 0; v < AllViews().size(); ++v) {
    const std::string name(AllViews()[v]->name());
    if (!findings.files[v].empty()) json["views"][name]["file"] = findings.files[v];
    if (node.views[v].notes.empty()) continue;
    json["views"][name]["notes"] = node.views[v].notes;
  }
  if (metadata == nullptr) return json;
  json["shape"] = metadata->shape;
  json["data_type"] = metadata->data_type.document;
  json["fill_value"] = FillValueJson(*metadata);
  if (metadata->dimension_names) {
    Json& names = json["dimension_names"] = Json::array();
    for (const auto& name : *metadata->dimension_names) {
      names.push_back(name ? Json(*name) : Json());
    }
  }
  if (node.chunks == nullptr) return json;
  const ArrayLayout& layout = node.chunks->layout();
  json["chunk_shape"] = layout.inner_chunk_shape;
  json["chunks"] = layout.inner_grid.size();
  json["shard_shape"] = layout.is_sharded() ? Json(metadata->chunk_shape) : Json();
  if (!metadata->chunk_edges.empty()) {
    json["shard_shapes"] = metadata->document["chunk_grid"]["configuration"]["chunk_shapes"];
  }
  json["shards"] = layout.is_sharded() ? Json(layout.outer_grid.size()) : Json();
  json["shard_checksum"] = WhatIsCheckedOfShards(layout);
  json["codecs"] = ToJson(layout.inner_codecs);
  for (size_t v = 0; v < AllViews().size(); ++v) {
    const ViewSummary& summary = findings.views[v];
    Json& view = json["views"][std::string(AllViews()[v]->name())];
    view["shown"] = summary.shown != nullptr;
    if (summary.shown == nullptr) {
      view["reason"] = summary.reason;
      continue;
    }
    view["serving"] = summary.serving;
    if (AllViews()[v]->file_of() != FileOf::kNothing) continue;
    view["first_chunk"] = summary.example;
    view["cut_front"] = summary.shown->encoding.cut_front;
    view["cut_back"] = summary.shown->encoding.cut_back;
    view["checksum"] = WhatIsChecked(summary.shown->encoding);
    view["fill_chunks"] = summary.has_fill_chunks();
    if (!summary.has_fill_chunks()) continue;
    view["files"] = layout.inner_grid.size();
    view["stored_files"] = findings.stored->count;
    view["stored_files_at_least"] = !findings.stored->is_complete;
    view["fill_keep_avoids"] = !MakesFillChunksAnyway(node, v);
  }
  for (const auto& [key, error] : findings.stored->problems) {
    json["not_read"].push_back({{"key", key}, {"reason", WithoutKey(error.message, key)}});
  }
  return json;
}

// Prints the same document as DumpJson() for all nodes, but one node at a time.
class JsonOutput {
 public:
  void Begin(std::string_view store) {
    Print("{{\n  \"store\": {},\n  \"nodes\": [", JsonText(store));
  }
  void Add(Json node) {
    PrintLatest();
    latest_ = std::move(node);
  }
  // The JSON of the node that was added last. It may be changed until the next Add().
  [[nodiscard]] Json& latest() { return latest_; }
  void End(const VirtualFolders& folders) {
    PrintLatest();
    Write("\n  ]");
    for (const VirtualPrefix& prefix : folders.prefixes) {
      const bool is_first = &prefix == &folders.prefixes.front();
      Print("{}{}", is_first ? ",\n  \"virtual\": [" : ", ", JsonText(prefix.Text()));
    }
    Write(folders.prefixes.empty() ? "\n}\n" : "]\n}\n");
  }

 private:
  void PrintLatest() {
    if (latest_.is_null()) return;
    std::string text = DumpJson(latest_);
    text.pop_back();  // drops the newline
    Write(std::exchange(separator_, ",\n    "));
    size_t from = 0;
    for (size_t at = 0; (at = text.find('\n', from)) != std::string::npos; from = at + 1) {
      Print("{}\n    ", std::string_view(text).substr(from, at - from));
    }
    Write(std::string_view(text).substr(from));
  }

  Json latest_;
  std::string_view separator_ = "\n    ";
};

// Prints the mount options that allow all virtual chunks to be read.
void PrintVirtualFolders(const VirtualFolders& folders) {
  for (const VirtualPrefix& prefix : folders.prefixes) {
    Print("virtual chunks lie below {}: -o virtual={}\n",
          prefix.scheme == VirtualScheme::kFile ? Visible(prefix.Path()) : prefix.Text(),
          prefix.Text());
  }
  if (!folders.is_all) Write("more virtual chunks lie in places that are not listed here\n");
}

// The detailed form prints lines for each node. On a terminal, these lines already show the
// progress.
bool IsProgressSeen(InfoForm form) {
  return form == InfoForm::kDetails ? Progress::IsSeenBesideOutput() : Progress::IsSeen();
}

class Information {
 public:
  Information(const TargetNode& target, InfoForm form)
      : target_(target),
        form_(form),
        progress_("node", IsProgressSeen(form)),
        overview_([this](const std::function<void()>& print) { progress_.Above(print); }) {}

  int Run() {
    progress_.Begin(1);
    if (form_ != InfoForm::kJson) Print("{}\n", Visible(target_.source.text()));
    if (form_ == InfoForm::kJson) json_.Begin(target_.source.text());
    Visit(*target_.node, Siblings());
    AddFilesOfGroups();
    progress_.End();
    if (form_ == InfoForm::kOverview) overview_.Finish();
    const auto folders = VirtualFoldersOf(target_.hierarchy->store());
    if (form_ == InfoForm::kJson) {
      json_.End(folders.value_or(VirtualFolders()));
    } else if (folders) {
      PrintVirtualFolders(*folders);
    }
    if (code_ != kExitOk) Complain("not everything could be read; the reasons are above");
    return code_;
  }

 private:
  // Returns the names of all nodes in the target node's group; none if the target is the root.
  [[nodiscard]] Names Siblings() const {
    const std::string& path = target_.node->path;
    if (path.empty()) return {};
    const auto group = target_.hierarchy->Get(std::string(FolderOf(path)), kAnyAge);
    if (!group) return {};
    Names siblings;
    (void)target_.hierarchy->VisitChildren(
        **group, kAnyAge, [&](const Names& names) { siblings = names; },
        [](const std::string& /*name*/, const Result<NodePtr>& /*child*/) { return false; });
    return siblings;
  }

  void Visit(const Node& node, const Names& siblings) {
    progress_.AddDone();
    ++nodes_since_files_;
    const NodeFindings findings(*target_.hierarchy, node, siblings, form_);
    if (findings.stored) {
      for (const auto& [key, error] : findings.stored->problems) Count(error);
    }
    Show(node, findings);
    if (node.group() == nullptr) return;
    if (form_ != InfoForm::kOverview) AddFiles(node.path);
    VisitChildren(node);
    if (form_ == InfoForm::kOverview) groups_.push_back(node.path);
    if (nodes_since_files_ >= kNodesAtOnce) AddFilesOfGroups();
  }

  void VisitChildren(const Node& group) {
    Names siblings;
    bool is_empty = true;
    const auto visited = target_.hierarchy->VisitChildren(
        group, kAnyAge,
        [&](const Names& names) {
          progress_.AddFound(names.size());
          siblings = names;
        },
        [&](const std::string& name, const Result<NodePtr>& child) {
          is_empty = false;
          if (child) {
            Visit(**child, siblings);
          } else {
            VisitUnreadable(JoinKey(group.path, name), "unreadable",
                            "cannot be read:", child.error());
            Count(child.error());
          }
          return true;
        });
    if (!visited) return VisitUnlisted(group, visited.error());
    if (is_empty && form_ == InfoForm::kOverview) overview_.AddEmpty(group);
    VisitMounts(group.path);
  }

  void Show(const Node& node, const NodeFindings& findings) {
    if (form_ == InfoForm::kJson) {
      json_.Add(NodeJson(node, findings));
    } else if (form_ == InfoForm::kDetails) {
      progress_.Above([&] { PrintNode(node, findings); });
    } else if (findings.stored) {
      overview_.AddArray(node, findings.views, *findings.stored);
    } else {
      overview_.AddOther(node);
    }
  }

  // Examines the files that views make from the groups in `groups_`, whose arrays have all been
  // visited. Called after the lines of these arrays were printed.
  void AddFilesOfGroups() {
    if (form_ == InfoForm::kOverview) overview_.Flush();
    for (const std::string& group : groups_) AddFiles(group);
    groups_.clear();
    nodes_since_files_ = 0;
  }

  // Prints what the file that a view makes from a group leaves out, or why the view makes no file.
  void AddFiles(const std::string& group) {
    for (size_t v = 0; v < AllViews().size(); ++v) {
      if (AllViews()[v]->file_of() != FileOf::kGroups) continue;
      const auto file = WholeFiles(*target_.hierarchy).Assemble(group, v, kAnyAge);
      const std::vector<std::string> notes =
          file ? (*file)->file.notes : std::vector<std::string>{file.error().message};
      for (const std::string& note : notes) {
        if (form_ == InfoForm::kJson) {
          json_.latest()["views"][std::string(AllViews()[v]->name())]["left_out"].push_back(note);
        } else if (form_ == InfoForm::kDetails) {
          PrintNotShown(AllViews()[v]->name(), "left out: " + note);
        } else {
          overview_.AddLeftOut(group, v, "left out: " + note);
        }
      }
      if (!file || (*file)->file.why_cdf5.empty()) continue;
      const std::string& why = (*file)->file.why_cdf5;
      if (form_ == InfoForm::kJson) {
        json_.latest()["views"][std::string(AllViews()[v]->name())]["cdf5"] = why;
      } else if (form_ == InfoForm::kDetails) {
        PrintNotShown(AllViews()[v]->name(), why);
      } else {
        overview_.AddLeftOut(group, v, why);
      }
    }
  }

  void VisitUnlisted(const Node& group, const Error& error) {
    const std::string reason = WithoutKey(error.message, group.path);
    if (form_ == InfoForm::kJson) {
      json_.latest()["not_listed"] = reason;
    } else if (form_ == InfoForm::kDetails) {
      PrintNotShown("not read", "the nodes below: " + reason);
    } else {
      overview_.AddProblem(group.path.empty() ? "/" : group.path, "not listed:", reason);
    }
    Count(error);
  }

  // Reports zarrfs mounts below a group, which are not part of the store.
  void VisitMounts(const std::string& folder) {
    const Store& store = target_.hierarchy->store();
    const auto entries = store.List(folder);
    if (!entries) return;  // VisitChildren() reports such errors
    for (const ListEntry& entry : *entries) {
      if (!entry.is_refused || !entry.is_folder) continue;
      const std::string path = JoinKey(folder, entry.name);
      const auto info = store.Stat(path);
      if (!info) VisitUnreadable(path, "zarrfs mount", "not part of the store:", info.error());
    }
  }

  // Reports a child that cannot be read or is not part of the store.
  void VisitUnreadable(const std::string& path, std::string_view type, std::string_view words,
                       const Error& error) {
    const std::string reason = WithoutKey(error.message, path);
    if (form_ == InfoForm::kJson) {
      json_.Add({{"path", path}, {"node_type", type}, {"reason", reason}});
    } else if (form_ == InfoForm::kDetails) {
      progress_.Above([&] {
        Print("{}  {} {}\n", Paint(Visible(path), Style::kBold), Paint(words, Style::kYellow),
              Visible(reason));
      });
    } else {
      overview_.AddProblem(path, words, reason);
    }
  }

  // Sets the exit code if data could not be read. Damage does not change the exit code, because
  // damage is a result.
  void Count(const Error& error) {
    if (!IsDamage(error)) code_ = kExitSystem;
  }

  const TargetNode& target_;
  const InfoForm form_;
  Progress progress_;
  Overview overview_;
  std::vector<std::string> groups_;  // finished groups for which AddFiles() was not called yet
  size_t nodes_since_files_ = 0;     // the number of nodes visited since AddFilesOfGroups()
  JsonOutput json_;
  int code_ = kExitOk;
};

}  // namespace

int Info(const TargetNode& target, const InfoOptions& options) {
  if (!options.html.empty()) return WritePage(target, options);
  const bool has_details =
      options.details || !options.path.empty() || target.node->group() == nullptr;
  const InfoForm form = options.json  ? InfoForm::kJson
                        : has_details ? InfoForm::kDetails
                                      : InfoForm::kOverview;
  return Information(target, form).Run();
}

}  // namespace zarrfs::ctl
