#include <optional>
#include <utility>

#include "tools/zarrctl/commands.h"
#include "tools/zarrctl/describe.h"
#include "tools/zarrctl/output.h"
#include "tools/zarrctl/target.h"
#include "zarrcore/base/printable.h"
#include "zarrcore/icechunk/icechunk_store.h"
#include "zarrcore/zip/zip_store.h"

namespace zarrfs::ctl {
namespace {

// Returns the byte range of a chunk in its stored object, without the checksums that the view
// omits.
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

// Where programs without Zarr support find the bytes of a stored object.
struct ObjectPlace {
  std::string file;         // the absolute path of the object, or of the zip file that contains it
  std::string member = {};  // the object's name in the zip file; "" if the object is a file
  uint64_t begin = 0;       // the offset of the object's bytes in the file
  /// The reason why ranges are relative to the decoded object; "" if they are relative to the file.
  std::string decoded = {};
};

Result<ObjectPlace> PlaceOf(const TargetChunk& target) {
  ObjectPlace place{target.ObjectFile()};
  const ArrayLayout& layout = target.source().layout();
  if (layout.is_sharded() && !layout.levels[0].around.empty()) {
    place.decoded = "once decoded: the shard is compressed as a whole";
    return place;
  }
  const std::string file = target.array.ContainerFile();
  const Store& store = target.array.hierarchy->store();
  if (const auto container = IcechunkContainerOf(store)) {
    const auto part =
        IcechunkPlaceOf(store, target.source().ObjectKey(target.source().OuterOf(target.inner())));
    if (!part) return Fail(part);
    place.begin = part->offset;
    place.file = target.array.FileOf(part->key);
    if (file.empty()) return place;
    const auto begin = container->OffsetInFile(part->key);
    if (begin) return ObjectPlace{file, place.file.substr(file.size() + 1), *begin + part->offset};
    if (begin.error().code != ErrorCode::kUnsupported) return Fail(begin);
    place.decoded = "once inflated: it is compressed in the zip file";
    return place;
  }
  if (file.empty()) return place;
  const auto begin = target.array.hierarchy->store().OffsetInFile(
      target.source().ObjectKey(target.source().OuterOf(target.inner())));
  if (begin) return ObjectPlace{file, place.file.substr(file.size() + 1), *begin};
  const bool is_compressed = begin.error().code == ErrorCode::kUnsupported && IsZipName(file);
  if (!is_compressed) return Fail(begin);
  place.decoded = "once inflated: it is compressed in the zip file";
  return place;
}

// Prints the result as JSON. `range` is relative to the beginning of place.file; nullopt if the
// chunk is not stored.
void PrintJson(const TargetChunk& target, const ObjectPlace& place,
               const std::optional<ByteRange>& range, const std::optional<ViewFile>& in_view) {
  Json json = {{"array", target.array.FileOf(target.array.node->path)},
               {"chunk", target.at},
               {"present", range.has_value()},
               {"file", place.file}};
  if (!place.member.empty()) json["member"] = place.member;
  if (range) {
    json["offset"] = range->offset;
    json["length"] = range->length;
    if (!place.decoded.empty()) json["decoded"] = true;
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
  ObjectPlace place{target->ObjectFile()};
  if (located->location) {
    const auto found = RangeOf(*target, *located->location);
    if (!found) return Complain(found.error());
    auto holder = PlaceOf(*target);
    if (!holder) return Complain(holder.error());
    place = *std::move(holder);
    range = ByteRange::At(place.begin + found->offset, found->length);
  }
  std::optional<ViewFile> in_view;
  if (target->view) {
    auto described = DescribeViewFile(*target, located->location);
    if (!described) return Complain(described.error());
    in_view = std::move(*described);
  }
  const bool is_fill_file = !range && in_view && in_view->size;
  if (options.json) {
    PrintJson(*target, place, range, in_view);
  } else if (range) {
    Print("file    {}{}\n", Visible(place.file),
          place.decoded.empty() ? "" : fmt::format(" ({})", place.decoded));
    if (!place.member.empty()) Print("member  {}\n", Visible(place.member));
    Print("offset  {}\nlength  {}\n", range->offset, range->length);
    if (in_view) Print("{:<7} {}\n", in_view->view, in_view->text);
  } else if (is_fill_file) {
    Print("{:<7} {} (it would be in {})\n", in_view->view, in_view->text, Visible(place.file));
  } else {
    Complain(target->NotStored());
  }
  return range || is_fill_file ? kExitOk : kExitWrong;
}

}  // namespace zarrfs::ctl
