#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tools/zarrctl/commands.h"
#include "tools/zarrctl/describe.h"
#include "tools/zarrctl/interrupt.h"
#include "tools/zarrctl/map_view.h"
#include "tools/zarrctl/output.h"
#include "tools/zarrctl/progress.h"
#include "tools/zarrctl/target.h"
#include "tools/zarrctl/terminal.h"

namespace zarrfs::ctl {
namespace {

// Cells of each kind of output, so that its size has a bound whatever the array's.
constexpr uint64_t kSvgCells = 150;     // along each side
constexpr uint64_t kFoldedCells = 100;  // a row, of an array of one axis
constexpr uint64_t kJsonCells = 100;
constexpr uint64_t kMinLines = 16;
constexpr uint64_t kOtherLines = 12;  // around the map
constexpr uint64_t kMaxNamed = 100;   // damaged objects

std::string_view ByName(MapBy by) {
  return by == MapBy::kSize ? "size" : by == MapBy::kOrder ? "order" : "present";
}

Json MapJson(const TargetNode& target, const ChunkMap& map, MapBy by) {
  const ChunkSource& source = *target.node->chunks;
  const ArrayLayout& layout = source.layout();
  Json json = {{"array", target.FileOf(target.node->path)},
               {"by", ByName(by)},
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
      ChunkCoordinates at;
      const uint64_t first = map.FirstChunk(r, c);
      layout.inner_grid.Coordinates(first, at);
      Json entry = {
          {"chunk", std::vector<uint64_t>(
                        at.begin(), at.begin() + static_cast<ptrdiff_t>(layout.inner_grid.rank()))},
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

bool WriteFile(const std::string& path, const std::string& bytes) {
  errno = 0;
  std::FILE* file = std::fopen(path.c_str(), "wb");
  bool is_written = false;
  if (file != nullptr) {
    is_written = std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
    is_written = std::fclose(file) == 0 && is_written;
  }
  if (!is_written) {
    Complain(fmt::format("{}: {}; use another --out", path,
                         errno != 0 ? std::strerror(errno) : "not written"));
  }
  return is_written;
}

// Why the options cannot be served; nullopt if they can.
std::optional<Error> Unfit(const TargetNode& target, const MapOptions& options) {
  const Node& node = *target.node;
  const std::string folder = target.FileOf(node.path);
  if (!options.out.empty() && !options.out.ends_with(".svg")) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("--out {}: pictures are SVG files; name a FILE.svg", options.out)};
  }
  if (node.chunks == nullptr) {
    const Error* error = Unusable(node);
    if (error != nullptr) return Error{error->code, folder + ": " + error->message};
    return Error{
        ErrorCode::kInvalidArgument,
        fmt::format("{}: a group has no chunks; name an array (zarrctl ls lists them)", folder)};
  }
  if (options.by == MapBy::kOrder && !node.chunks->layout().is_sharded()) {
    return Error{
        ErrorCode::kInvalidArgument,
        fmt::format("{}: not sharded, each chunk is a file of its own; use --by size or --by "
                    "present",
                    folder)};
  }
  return std::nullopt;
}

MapRequest RequestFor(const ArrayLayout& layout, const MapOptions& options) {
  const auto& counts = layout.inner_grid.counts();
  MapRequest request;
  request.want_order =
      layout.is_sharded() && (options.by == MapBy::kOrder || options.json || !options.out.empty());
  if (options.json || !options.out.empty()) {
    const uint64_t cells = options.json ? kJsonCells : kSvgCells;
    const bool is_folded = counts.size() == 1 && !options.out.empty();
    request.max_rows = cells;
    request.max_columns = is_folded ? std::min(cells, kFoldedCells) : cells;
    return request;
  }
  const TerminalSize terminal = SizeOfTerminal(STDOUT_FILENO);
  const uint64_t rows = counts.empty() ? 1 : counts[counts.size() > 1 ? counts.size() - 2 : 0];
  request.max_columns = TextCells(terminal.columns, rows);
  request.max_rows = std::max(terminal.lines, kMinLines + kOtherLines) - kOtherLines;
  return request;
}

struct DrawnMap {
  ChunkMap map;
  uint64_t damaged_objects = 0;
};

// Complains of each damaged object.
Result<DrawnMap> MakeMap(const ChunkSource& source, const MapOptions& options) {
  Progress progress("object");
  const Result<std::vector<uint64_t>> slice =
      options.slice.empty() ? FirstSliceWithChunks(source)
                            : ParseSlice(options.slice, source.layout().inner_grid);
  if (!slice) return Fail(slice);
  DrawnMap drawn;
  auto map = MakeChunkMap(source, *slice, RequestFor(source.layout(), options), progress,
                          [&](const Error& error) {
                            if (++drawn.damaged_objects > kMaxNamed) return;
                            progress.Hide();
                            Complain(error);
                          });
  if (!map) return Fail(map);
  drawn.map = std::move(*map);
  progress.End();
  if (drawn.damaged_objects > kMaxNamed) {
    Complain(fmt::format("and {} more; zarrctl verify names them all",
                         drawn.damaged_objects - kMaxNamed));
  }
  return drawn;
}

}  // namespace

int RunMap(const MapOptions& options) {
  const auto target = FindNode(options.store, options.path);
  if (!target) return Complain(target.error());
  if (const auto error = Unfit(*target, options)) return Complain(*error);
  const ChunkSource& source = *target->node->chunks;
  const StopOnInterrupt on_interrupt;
  const auto drawn = MakeMap(source, options);
  if (StopRequested()) return kExitCtrlC;
  if (!drawn) return Complain(drawn.error());

  const ChunkMap& map = drawn->map;
  const MapWords words = DescribeMap(*target, map, options.by);
  const bool has_picture = !options.out.empty();
  if (has_picture && !WriteFile(options.out, DrawPicture(source, map, words, options.by))) {
    return kExitSystem;
  }
  if (options.json) {
    Write(DumpJson(MapJson(*target, map, options.by)));
  } else if (has_picture) {
    for (const std::string& line : words.summary) Print("{}\n", line);
  } else {
    Write(DrawText(map, words, options.by,
                   {SizeOfTerminal(STDOUT_FILENO).columns, TakesUtf8(), IsColored(STDOUT_FILENO)}));
  }
  return drawn->damaged_objects > 0 ? kExitWrong : kExitOk;
}

}  // namespace zarrfs::ctl
