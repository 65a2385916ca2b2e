#include "tools/zarrctl/page/page_nodes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "tools/zarrctl/describe.h"
#include "tools/zarrctl/interrupt.h"
#include "tools/zarrctl/output.h"
#include "tools/zarrctl/page/html.h"

namespace zarrfs::ctl {
namespace {

constexpr std::chrono::seconds kLongestWalk{20};
constexpr size_t kMaxKeptFailures = 100;
constexpr size_t kLongestDimension = 60;  // of a dimension, in the tree
constexpr size_t kDeepestNode = 100;

std::string LabelOf(const ArrayMetadata& metadata) {
  std::string label = fmt::format("{} {}", Shortened(metadata.data_type.name, kLongestDimension),
                                  DescribeShape(metadata.shape));
  if (!metadata.dimension_names || metadata.shape.empty()) return label;
  std::vector<std::string> names;
  for (const auto& name : *metadata.dimension_names) {
    names.push_back(Shortened(name.value_or("-"), kLongestDimension));
  }
  return fmt::format("{} ({})", label, fmt::join(names, ", "));
}

class Finder {
 public:
  Finder(const Hierarchy& hierarchy, const PageBudget& budget, const std::function<void()>& on_node)
      : hierarchy_(hierarchy),
        budget_(budget),
        is_over_(budget.EndOf(kLongestWalk)),
        on_node_(on_node) {}

  PageNodes Find(const NodePtr& top) {
    Visit(*top, 0, Siblings(top->path));
    return std::move(found_);
  }

 private:
  // Of the node that is looked at first.
  [[nodiscard]] Names Siblings(const std::string& path) const {
    if (path.empty()) return {};
    const auto group = hierarchy_.Get(std::string(FolderOf(path)), kAnyAge);
    const auto names = group ? hierarchy_.Children(**group, kAnyAge) : Fail(group);
    return names ? names->value : Names();
  }

  // False, with the reason, once there is no room for more.
  bool GoesOn(size_t depth) {
    if (!found_.why_not_all.empty()) return false;
    if (found_.nodes.size() >= budget_.limits().nodes) {
      found_.why_not_all = fmt::format("the tree has {} nodes", budget_.limits().nodes);
    } else if (is_over_()) {
      found_.why_not_all = "finding them took too long";
    } else if (depth > kDeepestNode) {
      found_.why_not_all = "some lie too deep";
    } else if (StopRequested()) {
      found_.why_not_all = "interrupted";
    }
    return found_.why_not_all.empty();
  }

  void Visit(const Node& node, size_t depth, const Names& siblings) {
    on_node_();
    PageNode made{.path = node.path, .depth = depth, .files = {}};
    made.is_array = node.array() != nullptr;
    if (made.is_array) made.label = LabelOf(*node.array());
    if (const Error* error = node.unusable()) made.problem = error->message;
    for (size_t v = 0; v < AllViews().size(); ++v) {
      made.files.push_back(FileOfNode(hierarchy_, node, v, siblings));
    }
    found_.nodes.push_back(std::move(made));
    if (const GroupMetadata* group = node.group()) AddImage(*group, node.path);
    const auto children = hierarchy_.Children(node, kAnyAge);
    if (!children) {
      found_.nodes.back().problem = "not listed: " + children.error().message;
      return Count(children.error());
    }
    for (const std::string& name : children->value) {
      if (!GoesOn(depth + 1)) return;
      const std::string path = JoinKey(node.path, name);
      const auto child = hierarchy_.Get(path, kAnyAge);
      if (child) {
        Visit(**child, depth + 1, children->value);
        continue;
      }
      found_.nodes.push_back({.path = path,
                              .depth = depth + 1,
                              .problem = "cannot be read: " + child.error().message,
                              .files = {}});
      Count(child.error());
    }
  }

  void AddImage(const GroupMetadata& group, const std::string& path) {
    auto image = FindOmeImage(group.attributes, path);
    if (!image) return;
    for (const std::string& level : image->levels) {
      if (level != image->coarsest()) found_.other_levels[level] = image->coarsest();
    }
    const std::string coarsest = image->coarsest();
    found_.images.insert_or_assign(coarsest, *std::move(image));
  }

  void Count(const Error& error) {
    if (found_.failures.size() < kMaxKeptFailures) found_.failures.push_back(error);
  }

  const Hierarchy& hierarchy_;
  const PageBudget& budget_;
  const std::function<bool()> is_over_;
  const std::function<void()>& on_node_;
  PageNodes found_;
};

}  // namespace

PageNodes FindPageNodes(const Hierarchy& hierarchy, const NodePtr& top, const PageBudget& budget,
                        const std::function<void()>& on_node) {
  return Finder(hierarchy, budget, on_node).Find(top);
}

}  // namespace zarrfs::ctl
