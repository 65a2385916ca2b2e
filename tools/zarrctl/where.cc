#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tools/zarrctl/commands.h"
#include "tools/zarrctl/output.h"
#include "tools/zarrctl/target.h"
#include "tools/zarrctl/view_file.h"
#include "zarrcore/base/printable.h"

namespace zarrfs::ctl {
namespace {

// Where the store has a chunk, as a file of a view has it: that may leave out a checksum.
struct Range {
  uint64_t offset = 0;
  uint64_t length = 0;
};

Result<Range> RangeOf(const TargetChunk& target, const ChunkLocation& location) {
  Range range{location.offset, location.length};
  if (!target.view) return range;
  const NodeView& view = target.array.node->views[*target.view];
  if (!view.array) return range;
  const ChunkEncoding& encoding = view.array->encoding;
  if (location.length < encoding.cut_front + encoding.cut_back) {
    return Fail(ErrorCode::kDamaged, "{}: chunk {}: shorter than its checksum", target.ObjectFile(),
                target.name());
  }
  range.offset += encoding.cut_front;
  range.length -= encoding.cut_front + encoding.cut_back;
  return range;
}

Json ViewJson(const ViewFile& file) {
  Json json = {{"name", file.view},
               {"exists", file.failure ? Json() : Json(file.size.has_value())}};
  if (file.size) {
    json["size"] = *file.size;
    json["serving"] = file.serving;
  }
  if (file.failure) json["failure"] = *file.failure;
  return json;
}

// `range`: nullopt if the chunk is not stored. `is_decoded`: it counts from the start of the
// decoded shard.
void PrintJson(const TargetChunk& target, const std::optional<Range>& range, bool is_decoded,
               const std::optional<ViewFile>& in_view) {
  Json json = {{"array", target.array.FileOf(target.array.node->path)},
               {"chunk", std::vector<uint64_t>(target.at().begin(), target.at().end())},
               {"present", range.has_value()},
               {"file", target.ObjectFile()}};
  if (range) {
    json["offset"] = range->offset;
    json["length"] = range->length;
    if (is_decoded) json["decoded"] = true;
  }
  if (in_view) json["view"] = ViewJson(*in_view);
  Write(DumpJson(json));
}

}  // namespace

int RunWhere(const WhereOptions& options) {
  const auto target = FindChunk(options.words);
  if (!target) return Complain(target.error());
  if (target->view) {
    if (const auto& hidden = target->array.node->views[*target->view].hidden) {
      return Complain(*hidden);
    }
  }
  const auto located = target->source().Locate(target->inner(), kAnyAge);
  if (!located) return Complain(located.error());
  std::optional<Range> range;
  if (located->location) {
    const auto found = RangeOf(*target, *located->location);
    if (!found) return Complain(found.error());
    range = *found;
  }
  std::optional<ViewFile> in_view;
  if (target->view) {
    auto described = DescribeViewFile(*target, located->location);
    if (!described) return Complain(described.error());
    in_view = std::move(*described);
  }
  const ArrayLayout& layout = target->source().layout();
  const bool is_decoded = layout.is_sharded() && !layout.levels[0].around.empty();
  const bool is_fill_file = !range && in_view && in_view->size;
  if (options.json) {
    PrintJson(*target, range, is_decoded, in_view);
  } else if (range) {
    Print("file    {}{}\noffset  {}\nlength  {}\n", Visible(target->ObjectFile()),
          is_decoded ? " (once decoded: the shard is compressed as a whole)" : "", range->offset,
          range->length);
    if (in_view) Print("{:<7} {}\n", in_view->view, in_view->text);
  } else if (is_fill_file) {
    Print("{:<7} {} (it would be in {})\n", in_view->view, in_view->text,
          Visible(target->ObjectFile()));
  } else {
    Complain(target->NotStored());
  }
  return range || is_fill_file ? kExitOk : kExitWrong;
}

}  // namespace zarrfs::ctl
