#include <algorithm>
#include <array>
#include <ctime>
#include <string>
#include <utility>
#include <vector>

#include "tools/zarrctl/commands.h"
#include "tools/zarrctl/describe.h"
#include "tools/zarrctl/output.h"
#include "tools/zarrctl/progress.h"
#include "tools/zarrctl/target.h"
#include "zarrcore/array/chunk_cursor.h"
#include "zarrcore/base/printable.h"
#include "zarrcore/icechunk/icechunk_store.h"
#include "zarrcore/icechunk/repository.h"

namespace zarrfs::ctl {
namespace {

// Returns the number of chunk positions of a stored object that are inside the array.
uint64_t Places(const ArrayLayout& layout, OuterIndex outer) {
  ChunkCoordinates at;
  layout.outer_grid.Coordinates(ToNumber(outer), at);
  uint64_t places = 1;
  for (size_t d = 0; d < layout.outer_grid.rank(); ++d) {
    const uint64_t first = layout.FirstInner(d, at[d]);
    places *= std::min(layout.InnerCount(d, at[d]), layout.inner_grid.counts()[d] - first);
  }
  return places;
}

int ListGroup(const TargetNode& target, const LsOptions& options) {
  const auto children = target.hierarchy->Children(*target.node, kAnyAge);
  if (!children) return Complain(children.error());
  int code = kExitOk;
  Table table;
  Json nodes = Json::array();
  Progress progress("node");
  progress.Begin(children->value.size());
  for (const std::string& name : children->value) {
    progress.AddDone();
    const auto child = target.hierarchy->Get(JoinKey(target.node->path, name), kAnyAge);
    if (!child) {
      progress.Hide();
      Complain(child.error());
      code = kExitSystem;
      continue;
    }
    const Node& node = **child;
    const ArrayMetadata* metadata = node.array();
    Json json = {{"name", name}, {"node_type", NodeType(node)}};
    std::vector<std::string> row = {Paint(Visible(name), Style::kBold), NodeType(node)};
    if (metadata != nullptr) {
      json["data_type"] = metadata->data_type.document;
      json["shape"] = metadata->shape;
      row.push_back(Visible(metadata->data_type.name));
      row.push_back(DescribeShape(metadata->shape));
      if (options.details) {
        const ArrayLayout* layout = node.chunks != nullptr ? &node.chunks->layout() : nullptr;
        const bool sharded = layout != nullptr && layout->is_sharded();
        const auto& chunk_shape = layout ? layout->inner_chunk_shape : metadata->chunk_shape;
        const auto& codecs = layout ? layout->inner_codecs : metadata->codecs;
        json["chunk_shape"] = chunk_shape;
        json["shard_shape"] = sharded ? Json(metadata->chunk_shape) : Json();
        json["codecs"] = ToJson(codecs);
        row.push_back("chunks " + DescribeShape(chunk_shape));
        row.push_back(sharded ? "shards " + DescribeOuterShape(*metadata) : "no shards");
        row.push_back(Visible(DescribeCodecs(codecs)));
      }
    }
    if (const Error* unusable = node.unusable()) {
      json["reason"] = unusable->message;
      row.push_back(Paint("not shown:", Style::kYellow) + " " + Visible(unusable->message));
    }
    nodes.push_back(std::move(json));
    table.Add(std::move(row));
  }
  progress.End();
  if (options.json) {
    Write(DumpJson(Json{{"group", target.FileOf(target.node->path)}, {"nodes", std::move(nodes)}}));
  } else {
    table.Print();
  }
  return code;
}

// The stored chunks of one object.
struct ObjectChunks {
  uint64_t present = 0;
  uint64_t damaged = 0;
  Json json = Json::array();  // one element per chunk, if details are requested
  std::string text;           // one line per chunk, if details are requested
};

Result<ObjectChunks> ChunksOf(const ChunkSource& source, OuterIndex outer, bool details) {
  ObjectChunks chunks;
  ChunkCursor cursor(source, outer);
  while (const ListedChunk* next = cursor.Next()) {
    const auto& location = next->location;
    ++(location ? chunks.present : chunks.damaged);
    if (!details) continue;
    const std::string name = ChunkName(ToNumber(next->chunk), source.layout().inner_grid);
    if (location) {
      chunks.json.push_back(
          {{"chunk", name}, {"offset", location->offset}, {"length", location->length}});
      chunks.text +=
          fmt::format("{:>14} {:>12}  chunk {}\n", location->offset, location->length, name);
    } else {
      const std::string& reason = location.error().message;
      chunks.json.push_back({{"chunk", name}, {"damage", reason}});
      chunks.text +=
          fmt::format("{}  chunk {}: {}\n", Paint(fmt::format("{:>27}", "damaged"), Style::kRed),
                      name, Visible(reason));
    }
  }
  if (!cursor.status()) return Fail(cursor.status());
  return chunks;
}

int ListArray(const TargetNode& target, const LsOptions& options) {
  if (target.node->chunks == nullptr) return Complain(target.WhyNoChunks());
  const ChunkSource& source = *target.node->chunks;
  const auto outers = source.ListOuter({});
  if (!outers) return Complain(outers.error());
  int code = kExitOk;
  Json objects = Json::array();
  Progress progress("object", options.json ? Progress::IsSeen() : Progress::IsSeenBesideOutput());
  progress.Begin(outers->size());
  const auto complain = [&](const Error& error) {
    progress.Hide();
    Complain(error);
    code = kExitSystem;
  };
  for (const OuterIndex outer : *outers) {
    progress.AddDone();
    const std::string key = source.ObjectKey(outer);
    const auto info = target.hierarchy->store().Stat(key);
    if (!info) {  // kNotFound means that the object was removed after the listing
      if (info.error().code != ErrorCode::kNotFound) complain(info.error());
      continue;
    }
    const auto chunks = ChunksOf(source, outer, options.details);
    if (!chunks) {
      complain(chunks.error());
      continue;
    }
    const uint64_t places = Places(source.layout(), outer);
    if (options.json) {
      Json json = {{"key", key},
                   {"size", info->size()},
                   {"chunks", chunks->present},
                   {"places", places},
                   {"damaged", chunks->damaged}};
      if (options.details) json["chunk_list"] = chunks->json;
      objects.push_back(std::move(json));
      continue;
    }
    Print("{:>14} bytes  {:>6} of {} chunks  {}{}\n{}", info->size(), chunks->present, places,
          Visible(key),
          chunks->damaged == 0 ? ""
                               : Paint(fmt::format("  ({} damaged)", chunks->damaged), Style::kRed),
          chunks->text);
  }
  progress.End();
  if (options.json) {
    Write(DumpJson(
        Json{{"array", target.FileOf(target.node->path)}, {"objects", std::move(objects)}}));
  }
  return code;
}

// A time in UTC: "2026-08-01 12:00:00".
std::string TimeText(int64_t time_ns) {
  const std::time_t seconds = time_ns / 1'000'000'000;
  std::tm parts = {};
  gmtime_r(&seconds, &parts);
  std::array<char, 32> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S", &parts)};
}

int ListCommits(const TargetNode& target, const LsOptions& options) {
  const auto container = IcechunkContainerOf(target.hierarchy->store());
  if (container == nullptr) {
    return Complain(Error{ErrorCode::kInvalidArgument,
                          fmt::format("{}: not an Icechunk repository, so it has no snapshots",
                                      target.source.text())});
  }
  const auto history = ReadIcechunkHistory(*container);
  if (!history) return Complain(history.error());
  Table table;
  Json commits = Json::array();
  for (const IcechunkCommit& commit : history->commits) {
    const std::string id = IcechunkIdText(commit.id);
    const std::string parent = commit.parent ? IcechunkIdText(*commit.parent) : "-";
    std::vector<std::string> names;
    for (const auto& [name, leads_to] : history->names) {
      if (leads_to == commit.id) names.push_back(name);
    }
    commits.push_back({{"id", id},
                       {"time", TimeText(commit.time_ns)},
                       {"parent", commit.parent ? Json(parent) : Json()},
                       {"message", commit.message},
                       {"names", names}});
    table.Add({Paint(id, Style::kBold), TimeText(commit.time_ns), parent,
               names.empty() ? "-" : Visible(fmt::format("{}", fmt::join(names, " "))),
               Visible(commit.message)});
  }
  if (options.json) {
    Write(DumpJson(commits));
  } else {
    table.Print();
  }
  return kExitOk;
}

}  // namespace

int Ls(const TargetNode& target, const LsOptions& options) {
  if (options.has_snapshots) return ListCommits(target, options);
  if (!target.node->metadata) return Complain(target.node->metadata.error());
  return target.node->array() != nullptr ? ListArray(target, options) : ListGroup(target, options);
}

}  // namespace zarrfs::ctl
