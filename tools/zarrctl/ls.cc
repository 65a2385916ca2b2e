#include <algorithm>
#include <string>
#include <utility>

#include "tools/zarrctl/commands.h"
#include "tools/zarrctl/describe.h"
#include "tools/zarrctl/output.h"
#include "tools/zarrctl/progress.h"
#include "tools/zarrctl/target.h"
#include "tools/zarrctl/terminal.h"
#include "zarrcore/array/chunk_cursor.h"
#include "zarrcore/base/printable.h"

namespace zarrfs::ctl {
namespace {

// Chunks of a stored object that lie in the array.
uint64_t Places(const ArrayLayout& layout, OuterIndex outer) {
  ChunkCoordinates at;
  layout.outer_grid.Coordinates(ToNumber(outer), at);
  uint64_t places = 1;
  for (size_t d = 0; d < layout.outer_grid.rank(); ++d) {
    const uint64_t first = at[d] * layout.inner_per_outer[d];
    places *= std::min(layout.inner_per_outer[d], layout.inner_grid.counts()[d] - first);
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
  progress.AddFound(children->value.size());
  progress.Begin();
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
    const Error* unusable = Unusable(node);
    Json json = {{"name", name}, {"node_type", NodeType(node)}};
    std::vector<std::string> row = {Paint(Visible(name), Style::kBold), NodeType(node)};
    if (metadata != nullptr) {
      json["data_type"] = metadata->data_type.document;
      json["shape"] = metadata->shape;
      row.push_back(Visible(metadata->data_type.name));
      row.push_back(DescribeShape(metadata->shape));
      if (options.details) {
        const bool sharded = node.chunks != nullptr && node.chunks->layout().is_sharded();
        const auto& chunk_shape = node.chunks != nullptr ? node.chunks->layout().inner_chunk_shape
                                                         : metadata->chunk_shape;
        const auto& codecs =
            node.chunks != nullptr ? node.chunks->layout().inner_codecs : metadata->codecs;
        json["chunk_shape"] = chunk_shape;
        json["shard_shape"] = sharded ? Json(metadata->chunk_shape) : Json();
        json["codecs"] = ToJson(codecs);
        row.push_back("chunks " + DescribeShape(chunk_shape));
        row.push_back(sharded ? "shards " + DescribeShape(metadata->chunk_shape) : "no shards");
        row.push_back(Visible(DescribeCodecs(codecs)));
      }
    }
    if (unusable != nullptr) {
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

int ListArray(const TargetNode& target, const LsOptions& options) {
  if (target.node->chunks == nullptr) {
    const Error* error = Unusable(*target.node);
    if (error == nullptr) return kExitWrong;
    return Complain(Error{error->code, target.FileOf(target.node->path) + ": " + error->message});
  }
  const ChunkSource& source = *target.node->chunks;
  const ArrayLayout& layout = source.layout();
  const auto outers = source.ListOuter({});
  if (!outers) return Complain(outers.error());
  int code = kExitOk;
  Json objects = Json::array();
  Progress progress("object", options.json ? Progress::IsSeen() : Progress::IsSeenBesideOutput());
  progress.AddFound(outers->value.size());
  progress.Begin();
  for (const OuterIndex outer : outers->value) {
    progress.AddDone();
    const std::string key = source.ObjectKey(outer);
    const auto info = target.hierarchy->store().Stat(key);
    if (!info) {
      if (info.error().code == ErrorCode::kNotFound) continue;  // removed since it was listed
      progress.Hide();
      Complain(info.error());
      code = kExitSystem;
      continue;
    }
    uint64_t present = 0;
    uint64_t damaged = 0;
    std::string details;
    Json chunks = Json::array();
    ChunkCursor cursor(source, outer);
    while (const ListedChunk* next = cursor.Next()) {
      const Result<ChunkLocation>& place = next->location;
      ++(place ? present : damaged);
      if (!options.details) continue;
      const std::string name = ChunkName(ToNumber(next->chunk), layout.inner_grid);
      if (options.json) {
        Json json = {{"chunk", name}};
        if (place) {
          json["offset"] = place->offset;
          json["length"] = place->length;
        } else {
          json["damage"] = place.error().message;
        }
        chunks.push_back(std::move(json));
      } else if (place) {
        details += fmt::format("{:>14} {:>12}  chunk {}\n", place->offset, place->length, name);
      } else {
        details +=
            fmt::format("{}  chunk {}: {}\n", Paint(fmt::format("{:>27}", "damaged"), Style::kRed),
                        name, Visible(place.error().message));
      }
    }
    const Result<void>& visited = cursor.status();
    if (!visited) {
      progress.Hide();
      Complain(visited.error());
      code = kExitSystem;
    }
    const uint64_t places = Places(layout, outer);
    if (options.json) {
      Json json = {{"key", key},
                   {"size", info->size()},
                   {"chunks", present},
                   {"places", places},
                   {"damaged", damaged}};
      if (options.details) json["chunk_list"] = std::move(chunks);
      objects.push_back(std::move(json));
      continue;
    }
    Print("{:>14} bytes  {:>6} of {} chunks  {}{}\n{}", info->size(), present, places, Visible(key),
          damaged == 0 ? "" : Paint(fmt::format("  ({} damaged)", damaged), Style::kRed), details);
  }
  progress.End();
  if (options.json) {
    Write(DumpJson(
        Json{{"array", target.FileOf(target.node->path)}, {"objects", std::move(objects)}}));
  }
  return code;
}

}  // namespace

int RunLs(const LsOptions& options) {
  const auto target = FindNode(options.store, options.path);
  if (!target) return Complain(target.error());
  if (!target->node->metadata) {
    const Error* error = Unusable(*target->node);
    if (error != nullptr) return Complain(*error);
  }
  return target->node->array() != nullptr ? ListArray(*target, options)
                                          : ListGroup(*target, options);
}

}  // namespace zarrfs::ctl
