#include <fmt/ranges.h>

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

int RunWhere(const WhereOptions& options) {
  const auto target = FindChunk(options.words);
  if (!target) return Complain(target.error());
  const Node& node = *target->array.node;
  const ChunkSource& source = *node.chunks;
  const std::string name = ChunkNaming{}.Path(target->at());
  const std::string file =
      target->array.FileOf(source.ObjectKey(source.OuterOf(InnerIndex{target->chunk})));

  // A file of a view may leave out a checksum of the stored chunk.
  uint64_t cut_front = 0;
  uint64_t cut_back = 0;
  if (target->view) {
    const NodeView& view = node.views[*target->view];
    if (view.hidden) return Complain(*view.hidden);
    if (view.array) {
      cut_front = view.array->encoding.cut_front;
      cut_back = view.array->encoding.cut_back;
    }
  }
  const auto located = source.Locate(InnerIndex{target->chunk}, kAnyAge);
  if (!located) return Complain(located.error());
  const std::optional<ChunkLocation>& place = located->location;
  const bool present = place.has_value();
  if (present && place->length < cut_front + cut_back) {
    Complain(fmt::format("{}: chunk {}: shorter than its checksum", file, name));
    return kExitWrong;
  }
  const bool is_decoded = source.layout().is_sharded() && !source.layout().levels[0].around.empty();
  const uint64_t offset = present ? place->offset + cut_front : 0;
  const uint64_t length = present ? place->length - cut_front - cut_back : 0;
  std::optional<ViewFile> in_view;
  if (target->view) {
    auto described = DescribeViewFile(*target, place);
    if (!described) return Complain(described.error());
    in_view = std::move(*described);
  }
  const bool is_made_up = !present && in_view && in_view->size;

  if (options.json) {
    Json json;
    json["array"] = target->array.FileOf(node.path);
    json["chunk"] = std::vector<uint64_t>(target->at().begin(), target->at().end());
    json["present"] = present;
    json["file"] = file;
    if (present) {
      json["offset"] = offset;
      json["length"] = length;
      if (is_decoded) json["decoded"] = true;
    }
    if (in_view) {
      Json& view = json["view"];
      view["name"] = in_view->view;
      view["exists"] = in_view->failure ? Json() : Json(in_view->size.has_value());
      if (in_view->size) {
        view["size"] = *in_view->size;
        view["serving"] = in_view->serving;
      }
      if (in_view->failure) view["failure"] = *in_view->failure;
    }
    Write(DumpJson(json));
  } else if (present) {
    Print("file    {}{}\noffset  {}\nlength  {}\n", Visible(file),
          is_decoded ? " (once decoded: the shard is compressed as a whole)" : "", offset, length);
    if (in_view) Print("{:<7} {}\n", in_view->view, in_view->text);
  } else if (is_made_up) {
    Print("{:<7} {} (it would be in {})\n", in_view->view, in_view->text, Visible(file));
  } else {
    Complain(fmt::format(
        "chunk {} is not stored: every element is the fill value (it would be in {})", name, file));
  }
  return present || is_made_up ? kExitOk : kExitWrong;
}

}  // namespace zarrfs::ctl
