#include <optional>
#include <utility>

#include "tools/zarrctl/commands.h"
#include "tools/zarrctl/describe.h"
#include "tools/zarrctl/output.h"
#include "tools/zarrctl/target.h"
#include "zarrcore/base/printable.h"

namespace zarrfs::ctl {
namespace {

// Where the store has a chunk, as a file of a view has it: that may leave out a checksum.
Result<ByteRange> RangeOf(const TargetChunk& target, const ChunkLocation& location) {
  const auto whole = ByteRange::At(location.offset, location.length);
  if (!target.view || !target.array.node->views[*target.view].array) return whole;
  const ChunkEncoding& encoding = target.array.node->views[*target.view].array->encoding;
  const uint64_t cut = encoding.cut_front + encoding.cut_back;
  if (location.length >= cut) {
    return ByteRange::At(location.offset + encoding.cut_front, location.length - cut);
  }
  return Fail(ErrorCode::kDamaged, "{}: chunk {}: shorter than its checksum", target.ObjectFile(),
              target.name());
}

// `range`: nullopt if the chunk is not stored. `is_decoded`: it counts from the start of the
// decoded shard.
void PrintJson(const TargetChunk& target, const std::optional<ByteRange>& range, bool is_decoded,
               const std::optional<ViewFile>& in_view) {
  Json json = {{"array", target.array.FileOf(target.array.node->path)},
               {"chunk", target.at},
               {"present", range.has_value()},
               {"file", target.ObjectFile()}};
  if (range) {
    json["offset"] = range->offset;
    json["length"] = range->length;
    if (is_decoded) json["decoded"] = true;
  }
  if (in_view) {
    Json& view = json["view"] = {{"name", in_view->view}};
    view["exists"] = in_view->failure ? Json() : Json(in_view->size.has_value());
    if (in_view->size) view.update({{"size", *in_view->size}, {"serving", in_view->serving}});
    if (in_view->failure) view["failure"] = *in_view->failure;
  }
  Write(DumpJson(json));
}

}  // namespace

int Where(const WhereOptions& options) {
  const auto target = FindChunk(options.words);
  if (!target) return Complain(target.error());
  if (target->view) {
    if (const auto& hidden = target->array.node->views[*target->view].hidden) {
      return Complain(*hidden);
    }
  }
  const auto located = target->source().Locate(target->inner(), kAnyAge);
  if (!located) return Complain(located.error());
  std::optional<ByteRange> range;
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
