#include <fmt/ranges.h>

#include <functional>
#include <string>

#include "tools/zarrctl/commands.h"
#include "tools/zarrctl/describe.h"
#include "tools/zarrctl/output.h"
#include "tools/zarrctl/progress.h"
#include "tools/zarrctl/target.h"
#include "tools/zarrctl/terminal.h"

namespace zarrfs::ctl {
namespace {

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

// Zarr v3 goes without saying.
std::string_view Format(const Node& node) { return node.is_v2() ? " (v2)" : ""; }

void PrintArray(const Node& node) {
  const ArrayMetadata& metadata = *node.array();
  if (const Error* error = Unusable(node)) {
    PrintLine("chunks", DescribeShape(metadata.chunk_shape));
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
            "{}, {} in all{}", DescribeShape(metadata.chunk_shape), layout.outer_grid.size(),
            layout.levels.size() == 1 ? "" : fmt::format(", {} levels", layout.levels.size())));
  }
  PrintLine("codecs", DescribeCodecs(layout.inner_codecs));
  const Json fill = FillValueJson(metadata);
  PrintLine("fill", fill.is_string() ? fill.get<std::string>() : Excerpt(fill));
  for (size_t v = 0; v < AllViews().size(); ++v) {
    const ViewSummary summary = DescribeView(node, v);
    if (summary.shown) {
      PrintLine(AllViews()[v]->name(), summary.text);
    } else {
      PrintNotShown(AllViews()[v]->name(), summary.text);
    }
  }
}

void PrintNode(const Node& node) {
  const std::string name = Paint(node.path.empty() ? "/" : Visible(node.path), Style::kBold);
  if (const ArrayMetadata* metadata = node.array()) {
    const std::string dimensions = Visible(DimensionsText(*metadata));
    Print("{}  array{}  {}  {}{}{}\n", name, Format(node), Visible(metadata->data_type.name),
          DescribeShape(metadata->shape), dimensions.empty() ? "" : "  ", dimensions);
    PrintArray(node);
  } else if (const Error* error = Unusable(node)) {
    Print("{}  {} {}\n", name, Paint("not shown:", Style::kYellow),
          Visible(WithoutKey(error->message, JoinKey(node.path, node.document))));
  } else {
    Print("{}  group{}{}\n", name, Format(node),
          node.implicit ? " (without a zarr.json of its own)" : "");
  }
}

Json NodeJson(const Node& node) {
  Json json;
  json["path"] = node.path;
  json["node_type"] = NodeType(node);
  json["zarr_format"] = node.is_v2() ? 2 : 3;
  if (const Error* error = Unusable(node)) json["reason"] = error->message;
  if (node.group() != nullptr) json["implicit"] = node.implicit;
  const ArrayMetadata* metadata = node.array();
  if (metadata == nullptr) return json;
  json["shape"] = metadata->shape;
  json["data_type"] = metadata->data_type.document;
  json["fill_value"] = FillValueJson(*metadata);
  if (metadata->dimension_names) {
    Json names = Json::array();
    for (const auto& name : *metadata->dimension_names)
      names.push_back(name ? Json(*name) : Json());
    json["dimension_names"] = std::move(names);
  }
  if (node.chunks == nullptr) return json;
  const ArrayLayout& layout = node.chunks->layout();
  json["chunk_shape"] = layout.inner_chunk_shape;
  json["chunks"] = layout.inner_grid.size();
  json["shard_shape"] = layout.is_sharded() ? Json(metadata->chunk_shape) : Json();
  json["shards"] = layout.is_sharded() ? Json(layout.outer_grid.size()) : Json();
  json["codecs"] = ToJson(layout.inner_codecs);
  for (size_t v = 0; v < AllViews().size(); ++v) {
    const ViewSummary summary = DescribeView(node, v);
    Json& view = json["views"][std::string(AllViews()[v]->name())];
    view["shown"] = summary.shown;
    if (summary.shown) {
      view["first_chunk"] = summary.example;
      view["serving"] = summary.serving;
      view["cut_front"] = summary.cut_front;
      view["cut_back"] = summary.cut_back;
      view["fill_chunks"] = summary.has_fill_chunks;
    } else {
      view["reason"] = summary.reason;
    }
  }
  return json;
}

}  // namespace

int RunInfo(const InfoOptions& options) {
  const auto target = FindNode(options.store, options.path);
  if (!target) return Complain(target.error());
  const Hierarchy& hierarchy = *target->hierarchy;
  int code = kExitOk;
  Json nodes = Json::array();
  Progress progress("node", options.json ? Progress::IsSeen() : Progress::IsSeenBesideOutput());
  progress.Begin();
  const auto fail = [&](const Error& error) {
    progress.Hide();
    Complain(error);
    code = kExitSystem;
  };
  const std::function<void(const Node&)> visit = [&](const Node& node) {
    progress.AddDone();
    if (options.json) {
      nodes.push_back(NodeJson(node));
    } else {
      PrintNode(node);
    }
    const auto children = hierarchy.Children(node, kAnyAge);
    if (!children) return fail(children.error());
    for (const std::string& name : *children) {
      const auto child = hierarchy.Get(JoinKey(node.path, name), kAnyAge);
      if (child) {
        visit(**child);
      } else {
        fail(child.error());
      }
    }
  };
  if (!options.json) Print("{}\n", Visible(target->folder));
  visit(*target->node);
  progress.End();
  if (options.json) {
    Write(DumpJson(Json{{"store", target->folder}, {"nodes", std::move(nodes)}}));
  }
  return code;
}

}  // namespace zarrfs::ctl
