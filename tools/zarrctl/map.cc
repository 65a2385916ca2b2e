#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include "tools/zarrctl/commands.h"
#include "tools/zarrctl/interrupt.h"
#include "tools/zarrctl/map_view.h"
#include "tools/zarrctl/output.h"
#include "tools/zarrctl/progress.h"
#include "tools/zarrctl/target.h"
#include "tools/zarrctl/terminal.h"

namespace zarrfs::ctl {
namespace {

// Cells of each kind of output, so that its size has a bound whatever the array's.
constexpr uint64_t kSvgCells = 150;  // along each side
constexpr uint64_t kPngColumns = 900;
constexpr uint64_t kPngRows = 640;
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
    Complain(fmt::format("{}: {}; say another --out", path,
                         errno != 0 ? std::strerror(errno) : "not written"));
  }
  return is_written;
}

}  // namespace

int RunMap(const MapOptions& options) {
  const bool is_svg = options.out.ends_with(".svg");
  if (!options.out.empty() && !is_svg && !options.out.ends_with(".png")) {
    Complain(fmt::format("--out {}: pictures are FILE.svg or FILE.png", options.out));
    return kExitWrong;
  }
  const auto target = FindNode(options.store, options.path);
  if (!target) return Complain(target.error());
  const Node& node = *target->node;
  const std::string folder = target->FileOf(node.path);
  if (node.chunks == nullptr) {
    if (const Error* error = node.array() != nullptr || !node.metadata
                                 ? (node.views[0].hidden ? &*node.views[0].hidden : nullptr)
                                 : nullptr) {
      return Complain(Error{error->code, folder + ": " + error->message});
    }
    Complain(
        fmt::format("{}: a group has no chunks; name an array (zarrctl ls lists them)", folder));
    return kExitWrong;
  }
  const ChunkSource& source = *node.chunks;
  const ArrayLayout& layout = source.layout();
  if (options.by == MapBy::kOrder && !layout.is_sharded()) {
    Complain(fmt::format(
        "{}: not sharded, each chunk is a file of its own; say --by size or --by present", folder));
    return kExitWrong;
  }

  const bool has_picture = !options.out.empty();
  const bool has_text = !has_picture && !options.json;
  const TerminalSize terminal = SizeOfTerminal(STDOUT_FILENO);
  const auto& counts = layout.inner_grid.counts();
  const uint64_t rows = counts.empty() ? 1 : counts[counts.size() > 1 ? counts.size() - 2 : 0];
  MapRequest request;
  request.most_columns = TextCells(terminal.columns, rows);
  request.most_rows = std::max(terminal.lines, kMinLines + kOtherLines) - kOtherLines;
  if (has_picture) {
    request.most_columns = is_svg ? kSvgCells : kPngColumns;
    request.most_rows = is_svg ? kSvgCells : kPngRows;
  } else if (options.json) {
    request.most_columns = request.most_rows = kJsonCells;
  }
  if (has_picture && counts.size() == 1) request.most_columns = kFoldedCells;
  if (has_picture && options.json) {
    request.most_columns = std::min(request.most_columns, kJsonCells);
    request.most_rows = std::min(request.most_rows, kJsonCells);
  }
  request.want_order = layout.is_sharded() && (options.by == MapBy::kOrder || !has_text);

  const StopOnInterrupt on_interrupt;
  Progress progress("object");
  Result<std::vector<uint64_t>> slice = options.slice.empty()
                                            ? FirstSliceWithChunks(source)
                                            : ParseSlice(options.slice, layout.inner_grid);
  if (!slice) {
    progress.End();
    return Complain(slice.error());
  }
  uint64_t damaged_objects = 0;
  const auto map = MakeChunkMap(source, *slice, request, progress, [&](const Error& error) {
    if (++damaged_objects > kMaxNamed) return;
    progress.Hide();
    Complain(error);
  });
  progress.End();
  if (StopRequested()) return kExitCtrlC;
  if (!map) return Complain(map.error());
  if (damaged_objects > kMaxNamed) {
    Complain(
        fmt::format("and {} more; zarrctl verify names them all", damaged_objects - kMaxNamed));
  }

  const MapWords words = DescribeMap(*target, *map, options.by);
  if (has_picture) {
    const auto picture = DrawPicture(source, *map, words, options.by,
                                     is_svg ? PictureFormat::kSvg : PictureFormat::kPng);
    if (!picture) return Complain(picture.error());
    if (!WriteFile(options.out, *picture)) return kExitSystem;
  }
  if (options.json) {
    Write(DumpJson(MapJson(*target, *map, options.by)));
  } else if (has_picture) {
    for (const std::string& line : words.summary) Print("{}\n", line);
  } else {
    Write(DrawText(*map, words, options.by,
                   {terminal.columns, TakesUtf8(), IsColored(STDOUT_FILENO)}));
  }
  return damaged_objects > 0 ? kExitWrong : kExitOk;
}

}  // namespace zarrfs::ctl
