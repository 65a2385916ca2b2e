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

constexpr std::chrono::seconds kMaxWalkTime{20};
constexpr size_t kMaxKeptFailures = 100;
constexpr size_t kMaxDimensionLength = 60;  // in characters, for names and types in the tree
constexpr size_t kDeepestNode = 100;

std::string LabelOf(const ArrayMetadata& metadata) {
  std::string label = fmt::format("{} {}", Shortened(metadata.data_type.name, kMaxDimensionLength),
                                  DescribeShape(metadata.shape));
  if (!metadata.dimension_names || metadata.shape.empty()) return label;
  std::vector<std::string> names;
  for (const auto& name : *metadata.dimension_names) {
    names.push_back(Shortened(name.value_or("-"), kMaxDimensionLength));
  }
  return fmt::format("{} ({})", label, fmt::join(names, ", "));
}

class Finder {
 public:
  Finder(const Hierarchy& hierarchy, const PageBudget& budget, const std::function<void()>& on_node,
         PageNodes& found, Mutex& mutex)
      : hierarchy_(hierarchy),
        budget_(budget),
        is_over_(budget.EndOf(kMaxWalkTime)),
        on_node_(on_node),
        found_(found),
        mutex_(mutex) {}

  void Find(const NodePtr& top) { Visit(*top, 0, Siblings(top->path)); }

 private:
  // Returns the names of all nodes in the group of the node at `path`; none for the root.
  [[nodiscard]] Names Siblings(const std::string& path) const {
    if (path.empty()) return {};
    const auto group = hierarchy_.Get(std::string(FolderOf(path)), kAnyAge);
    Names siblings;
    if (!group) return siblings;
    (void)hierarchy_.VisitChildren(
        **group, kAnyAge, [&](const Names& names) { siblings = names; },
        [](const std::string& /*name*/, const Result<NodePtr>& /*child*/) { return false; });
    return siblings;
  }

  // Returns why no further node is added; "" if one may be added.
  [[nodiscard]] std::string WhyNoMore(size_t depth) const {
    if (found_.nodes.size() >= budget_.limits().nodes) {
      return fmt::format("the tree has {} nodes", budget_.limits().nodes);
    }
    if (is_over_()) return "finding them took too long";
    if (depth > kDeepestNode) return "some are too deep in the tree";
    return StopRequested() ? "interrupted" : "";
  }

  bool GoesOn(size_t depth) {
    if (!found_.why_not_all.empty()) return false;
    std::string why = WhyNoMore(depth);
    if (why.empty()) return true;
    const MutexLock lock(mutex_);
    found_.why_not_all = std::move(why);
    return false;
  }

  void Add(PageNode node) {
    const MutexLock lock(mutex_);
    found_.nodes.push_back(std::move(node));
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
    const size_t number = found_.nodes.size();
    Add(std::move(made));
    if (const GroupMetadata* group = node.group()) {
      AddImage(*group, node.path);
      VisitChildren(node, number, depth + 1);
    }
  }

  // Visits the nodes directly below a group. `number`: the index of the group in `found_.nodes`.
  void VisitChildren(const Node& group, size_t number, size_t depth) {
    Names siblings;
    const auto visited = hierarchy_.VisitChildren(
        group, kAnyAge, [&](const Names& names) { siblings = names; },
        [&](const std::string& name, const Result<NodePtr>& child) {
          if (!GoesOn(depth)) return false;
          if (child) {
            Visit(**child, depth, siblings);
            return true;
          }
          Add({.path = JoinKey(group.path, name),
               .depth = depth,
               .problem = "cannot be read: " + child.error().message,
               .files = {}});
          Count(child.error());
          return true;
        });
    if (visited) return;
    Count(visited.error());
    const MutexLock lock(mutex_);
    found_.nodes[number].problem = "not listed: " + visited.error().message;
  }

  void AddImage(const GroupMetadata& group, const std::string& path) {
    auto image = FindOmeImage(group.attributes, path);
    if (!image) return;
    const MutexLock lock(mutex_);
    for (const std::string& level : image->levels) {
      if (level != image->coarsest()) found_.other_levels[level] = image->coarsest();
    }
    const std::string coarsest = image->coarsest();
    found_.images.insert_or_assign(coarsest, *std::move(image));
  }

  void Count(const Error& error) {
    const MutexLock lock(mutex_);
    if (found_.failures.size() < kMaxKeptFailures) found_.failures.push_back(error);
  }

  const Hierarchy& hierarchy_;
  const PageBudget& budget_;
  const std::function<bool()> is_over_;
  const std::function<void()>& on_node_;
  PageNodes& found_;
  Mutex& mutex_;  // held while found_ changes, which only this thread does
};

}  // namespace

void FindPageNodes(const Hierarchy& hierarchy, const NodePtr& top, const PageBudget& budget,
                   const std::function<void()>& on_node, PageNodes& found, Mutex& mutex) {
  Finder(hierarchy, budget, on_node, found, mutex).Find(top);
}

}  // namespace zarrfs::ctl
