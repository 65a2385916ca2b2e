#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tools/zarrctl/commands.h"
#include "tools/zarrctl/describe.h"
#include "tools/zarrctl/interrupt.h"
#include "tools/zarrctl/map/map_view.h"
#include "tools/zarrctl/output.h"
#include "tools/zarrctl/progress.h"
#include "tools/zarrctl/target.h"

namespace zarrfs::ctl {
namespace {

// A map in JSON has at most kJsonCells rows and columns. A map in text is drawn as if the terminal
// had at least kMinLines + kOtherLines lines.
constexpr uint64_t kJsonCells = 100;
constexpr uint64_t kMinLines = 16;
constexpr uint64_t kOtherLines = 12;  // the number of lines above and below the map
constexpr uint64_t kMaxNamed = 100;   // damaged objects above this number are only counted

Json MapJson(const TargetNode& target, const ChunkMap& map) {
  const ChunkSource& source = *target.node->chunks;
  const ArrayLayout& layout = source.layout();
  Json json = {{"array", target.FileOf(target.node->path)},
               {"by", kMapByNames[static_cast<size_t>(map.by)]},
               {"slice", map.slice},
               {"grid", layout.inner_grid.counts()},
               {"chunks_per_shard", layout.inner_per_outer},
               {"cell", Json::array({map.cell_rows, map.cell_columns})},
               {"places", map.places},
               {"stored", map.stored},
               {"damaged", map.damaged},
               {"objects", map.objects},
               {"bytes", map.bytes},
               {"smallest", map.smallest},
               {"largest", map.largest}};
  if (layout.is_sharded()) json["shards_in_order"] = map.in_order;
  Json cells = Json::array();
  for (uint64_t r = 0; r < map.grid_rows && !map.cells.empty(); ++r) {
    for (uint64_t c = 0; c < map.grid_columns; ++c) {
      const MapCell& cell = map.at(r, c);
      if (cell.stored == 0 && cell.damaged == 0) continue;
      const uint64_t first = map.FirstChunk(r, c);
      Json entry = {{"chunk", CoordinatesOf(first, layout.inner_grid)},
                    {"places", cell.places},
                    {"stored", cell.stored},
                    {"damaged", cell.damaged},
                    {"bytes", cell.bytes}};
      if (map.is_exact()) {
        entry["object"] = source.ObjectKey(source.OuterOf(InnerIndex{first}));
        if (cell.stored > 0) {
          entry["offset"] = cell.offset;
          if (layout.is_sharded()) entry["position"] = cell.position;
        }
      }
      cells.push_back(std::move(entry));
    }
  }
  json["cells"] = std::move(cells);
  return json;
}

// Fails if the options do not apply to the array.
Result<void> CheckOptions(const TargetNode& target, const MapOptions& options) {
  const Node& node = *target.node;
  if (node.chunks == nullptr) return tl::unexpected(target.WhyNoChunks());
  if (options.by == MapBy::kOrder && !node.chunks->layout().is_sharded()) {
    return Fail(ErrorCode::kInvalidArgument,
                "{}: not sharded, each chunk is a file of its own; use --by size or --by present",
                target.FileOf(node.path));
  }
  return {};
}

MapRequest RequestFor(const ArrayLayout& layout, const MapOptions& options) {
  const auto& counts = layout.inner_grid.counts();
  MapRequest request{.by = options.by};
  request.want_order = layout.is_sharded() && (options.by == MapBy::kOrder || options.json);
  if (options.json) {
    request.max_rows = kJsonCells;
    request.max_columns = kJsonCells;
    return request;
  }
  const TerminalSize terminal = SizeOfTerminal(STDOUT_FILENO);
  const uint64_t rows = counts.empty() ? 1 : counts[counts.size() > 1 ? counts.size() - 2 : 0];
  request.max_columns = TextCells(terminal.columns, rows);
  request.max_rows = std::max(terminal.lines, kMinLines + kOtherLines) - kOtherLines;
  return request;
}

// Makes the map of the slice that `options` name or, without one, of the first slice with chunks.
// Reports the first damaged objects, and counts all of them in `damaged`.
Result<ChunkMap> MakeMap(const ChunkSource& source, const MapOptions& options, uint64_t& damaged) {
  Progress progress("object");
  const Result<std::vector<uint64_t>> slice =
      options.slice.empty() ? FirstSliceWithChunks(source)
                            : ParseSlice(options.slice, source.layout().inner_grid);
  if (!slice) return Fail(slice);
  auto map = MakeChunkMap(source, *slice, RequestFor(source.layout(), options), progress,
                          [&](const Error& error) {
                            if (++damaged > kMaxNamed) return;
                            progress.Hide();
                            Complain(error);
                          });
  progress.End();
  if (map && damaged > kMaxNamed) {
    Complain(fmt::format("and {} more; zarrctl verify names them all", damaged - kMaxNamed));
  }
  return map;
}

}  // namespace

int Map(const TargetNode& target, const MapOptions& options) {
  if (const auto fit = CheckOptions(target, options); !fit) return Complain(fit.error());
  const ChunkSource& source = *target.node->chunks;
  const StopOnInterrupt on_interrupt;
  uint64_t damaged = 0;
  const auto made = MakeMap(source, options, damaged);
  if (StopRequested()) return kExitCtrlC;
  if (!made) return Complain(made.error());

  const ChunkMap& map = *made;
  const MapWords words = DescribeMap(target, map);
  if (options.json) {
    Write(DumpJson(MapJson(target, map)));
  } else {
    Write(DrawText(map, words,
                   {SizeOfTerminal(STDOUT_FILENO).columns, TakesUtf8(), IsColored(STDOUT_FILENO)}));
  }
  return damaged > 0 ? kExitWrong : kExitOk;
}

}  // namespace zarrfs::ctl
