#include "zarrcore/view/nc_view.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "zarrcore/base/checked.h"
#include "zarrcore/metadata/nczarr.h"
#include "zarrcore/view/nc_variable.h"
#include "zarrcore/view/netcdf_header.h"
#include "zarrcore/view/shared_dimensions.h"
#include "zarrcore/view/v2_attributes.h"

namespace zarrfs {
namespace {

constexpr uint64_t kBoundary = 4096;
constexpr uint64_t kMaxNcSize = uint64_t{1} << 62;

uint64_t RoundedUp(uint64_t value, uint64_t to) { return CeilDiv(value, to) * to; }

// A variable of the planned file, before its position in the file is known.
struct Planned {
  size_t array = 0;
  NcElements elements;
  uint64_t count = 0;  // the number of elements of the array
  uint64_t size = 0;   // the size of all values in bytes
  // For a variable with records, the size of a record in bytes; `size` is then 0, because the file
  // has no records.
  uint64_t record = 0;
};

class FilePlan {
 public:
  FilePlan(const FileSource& source, int version) : source_(source), version_(version) {
    std::vector<std::string> nodes;
    for (const FileSource::Array& array : source_.arrays) {
      nodes.emplace_back(array.name);
      dimensions_of_.push_back(
          {std::string(array.name), array.metadata->shape, PlainDimensionNames(*array.metadata)});
    }
    shared_ = ShareDimensions(dimensions_of_, nodes, {});
    for (size_t a = 0; a < source_.arrays.size(); ++a) {
      if (auto planned = Plan(a)) {
        variables_.push_back(std::move(*planned));
      } else {
        left_out_.push_back(std::move(planned.error().message));
      }
    }
    LimitSizes();
  }

  // One line for each array that a file in this CDF version cannot contain, with the reason.
  [[nodiscard]] const std::vector<std::string>& left_out() const { return left_out_; }

  AssembledFile Make() {
    NetcdfHeader header;
    if (source_.group != nullptr) {
      header.attributes = NcAttributesOf(source_.group->attributes, version_);
    }
    std::set<std::string> names;
    for (const Planned& planned : variables_) AddVariable(header, planned, names);
    AssembledFile file;
    uint64_t end = header.Encode(version_).size();
    for (size_t v = 0; v < variables_.size(); ++v) {
      const Planned& planned = variables_[v];
      if (planned.size == 0) continue;
      header.variables[v].begin = RoundedUp(end, kBoundary);
      file.parts.push_back(
          {header.variables[v].begin, planned.count, planned.array, planned.elements.form});
      end = header.variables[v].begin + RoundedUp(planned.size, 4);
    }
    // A variable without values still needs an offset: the end of all other variables, where
    // records would begin.
    uint64_t records = RoundedUp(end, kBoundary);
    for (size_t v = 0; v < variables_.size(); ++v) {
      if (variables_[v].size > 0) continue;
      header.variables[v].begin = records;
      records += RoundedUp(header.variables[v].size, 4);
    }
    file.header = header.Encode(version_);
    file.size = end;
    file.notes = std::move(left_out_);
    return file;
  }

 private:
  [[nodiscard]] Error WhyNot(size_t array, std::string_view reason) const {
    return {ErrorCode::kUnsupported, fmt::format("{}: {}", source_.arrays[array].name, reason)};
  }

  Result<Planned> Plan(size_t a) {
    const ArrayMetadata& array = *source_.arrays[a].metadata;
    std::optional<ElementRange> known;
    if (NeedsScan(array) && source_.scan) {
      const auto found = source_.scan(a);
      if (found) known = *found;
      if (!found && array.data_type.kind == DataKind::kString) {
        return tl::unexpected(WhyNot(a, found.error().message));
      }
    }
    auto elements = NcElementsOf(array, version_, known);
    if (!elements) return tl::unexpected(WhyNot(a, elements.error().message));
    const size_t item_size = elements->form.item_size();
    const auto size = CheckedProduct(array.shape, item_size);
    const auto record = size && *size == 0
                            ? CheckedProduct(std::span(array.shape).subspan(1), item_size)
                            : std::optional<uint64_t>(0);
    if (!size || *size > kMaxNcSize || !record || *record > kMaxNcSize) {
      return tl::unexpected(WhyNot(a, "too large for one file"));
    }
    const auto empty = std::ranges::find(array.shape, 0);
    if (empty != array.shape.end() && !MayHaveNoRecords(a)) {
      return tl::unexpected(WhyNot(a,
                                   "a NetCDF file may have only one dimension of length 0, and "
                                   "only as the first dimension of an array"));
    }
    const bool is_long =
        std::ranges::any_of(array.shape, [](uint64_t length) { return length > kMaxCdf2Length; });
    if (version_ == 2 && (is_long || *record > kMaxCdf2Size)) {
      return tl::unexpected(WhyNot(a, "a dimension is too long for CDF-2"));
    }
    return Planned{a, std::move(*elements), CheckedProduct(array.shape).value_or(0), *size,
                   *record};
  }

  // True if only the first dimension of array `a` has length 0, and it can be the file's record
  // dimension. A file has at most one record dimension.
  bool MayHaveNoRecords(size_t a) {
    const ArrayDimensions& dimensions = dimensions_of_[a];
    if (dimensions.shape[0] != 0 || std::ranges::count(dimensions.shape, 0) != 1) return false;
    const std::string name = NamesOf(dimensions, shared_)->front();
    if (records_.empty()) records_ = name;
    return records_ == name;
  }

  // In CDF-2, only the last variable may be larger than 4 GiB, and only if no variable has records.
  void LimitSizes() {
    if (version_ != 2) return;
    const auto is_small = [](const Planned& each) { return each.size <= kMaxCdf2Size; };
    const auto large = std::stable_partition(variables_.begin(), variables_.end(), is_small);
    if (large == variables_.end()) return;
    LeaveOut(large + 1, "only one variable of CDF-2 may be larger than 4 GiB");
    const auto has_size = [](const Planned& each) { return each.size > 0; };
    LeaveOut(std::stable_partition(variables_.begin(), variables_.end(), has_size),
             "its length is 0, which CDF-2 cannot combine with a variable larger than 4 GiB");
  }

  // Removes the variables from `first` to the last from the file, and records `reason` for each.
  void LeaveOut(std::vector<Planned>::iterator first, std::string_view reason) {
    for (auto each = first; each != variables_.end(); ++each) {
      left_out_.push_back(WhyNot(each->array, reason).message);
    }
    variables_.erase(first, variables_.end());
  }

  size_t DimensionNumber(NetcdfHeader& header, const std::string& name, uint64_t length) {
    const auto [found, is_new] = numbers_.try_emplace({name, length}, header.dimensions.size());
    if (is_new) {
      std::string nc_name = NcName(name);
      while (!dimension_names_.insert(nc_name).second) nc_name += '_';
      header.dimensions.push_back({std::move(nc_name), length});
    }
    return found->second;
  }

  void AddVariable(NetcdfHeader& header, const Planned& planned, std::set<std::string>& names) {
    const FileSource::Array& array = source_.arrays[planned.array];
    NcVariable variable;
    variable.name = NcName(std::string(array.name));
    while (!names.insert(variable.name).second) variable.name += '_';
    const auto dimensions = NamesOf(dimensions_of_[planned.array], shared_);
    const bool is_scalar = array.metadata->shape == std::vector<uint64_t>{1} &&
                           IsNczarrScalar(array.metadata->attributes);
    for (size_t d = 0; d < array.metadata->rank() && !is_scalar; ++d) {
      variable.dimensions.push_back(
          DimensionNumber(header, (*dimensions)[d], array.metadata->shape[d]));
    }
    variable.size = planned.size > 0 ? planned.size : planned.record;
    if (const uint64_t bytes = planned.elements.text_bytes; bytes > 0) {
      variable.dimensions.push_back(DimensionNumber(header, fmt::format("string{}", bytes), bytes));
    }
    std::vector<std::string> notes;
    variable.attributes = NcAttributesOf(*array.metadata, planned.elements, version_, notes);
    for (const std::string& note : notes) {
      left_out_.push_back(WhyNot(planned.array, note).message);
    }
    variable.type = planned.elements.type;
    header.variables.push_back(std::move(variable));
  }

  const FileSource& source_;
  const int version_;
  std::vector<ArrayDimensions> dimensions_of_;  // those of each array in source_.arrays
  SharedDimensions shared_;
  std::string records_;  // the name of the record dimension, whose length is 0; "" if none
  std::vector<Planned> variables_;
  std::vector<std::string> left_out_;
  // The index of each dimension in the header, by its name and length.
  std::map<std::pair<std::string, uint64_t>, size_t> numbers_;
  std::set<std::string> dimension_names_;
};

// Returns a message for users that says why a file is CDF-5. `reasons`: for each array that CDF-2
// cannot contain, its name and the reason.
std::string WhyCdf5(const std::vector<std::string>& reasons) {
  const size_t others = reasons.size() - 1;
  return fmt::format(
      "CDF-5, which GDAL, R and SciPy cannot open, because of {}{}; nc=2 leaves {} out",
      reasons.front(), others == 0 ? "" : fmt::format(" (and {} more)", others),
      others == 0 ? "it" : "them");
}

class NcViewImplementation final : public View {
 public:
  std::string_view name() const override { return "nc"; }
  std::string_view readers() const override { return "one NetCDF file for each group"; }

  bool is_listed() const override { return false; }
  FileOf file_of() const override { return FileOf::kGroups; }
  std::string_view suffix() const override { return ".nc"; }

  Result<ArrayView> ShowArray(const ArrayMetadata& metadata, const ArrayLayout& layout,
                              const ViewContext& /*context*/) const override {
    if (metadata.grid_only) return tl::unexpected(*metadata.grid_only);
    if (metadata.data_type.kind == DataKind::kString) {
      // Whether the strings fit into the file is known only after a scan, when the file is made.
      return layout.inner_texts.map([](const VlenChain&) { return ArrayView{}; });
    }
    const auto elements = NcElementsOf(metadata, 5, std::nullopt);
    if (!elements) return Fail(elements);
    if (!layout.inner_pipeline) return Fail(layout.inner_pipeline);
    return ArrayView{};
  }

  Result<AssembledFile> Assemble(const FileSource& source) const override {
    if (source.netcdf == NetcdfFormat::kCdf5) return FilePlan(source, 5).Make();
    FilePlan plan(source, 2);
    if (source.netcdf == NetcdfFormat::kCdf2 || plan.left_out().empty()) return plan.Make();
    FilePlan larger(source, 5);
    // CDF-5 is used only if it leaves out fewer arrays than CDF-2.
    if (larger.left_out().size() >= plan.left_out().size()) return plan.Make();
    std::vector<std::string> reasons = plan.left_out();
    std::erase_if(reasons, [&](const std::string& reason) {
      return std::ranges::find(larger.left_out(), reason) != larger.left_out().end();
    });
    AssembledFile file = larger.Make();
    file.why_cdf5 = WhyCdf5(reasons);
    return file;
  }

  GroupView ShowGroup(const GroupMetadata& /*metadata*/,
                      const ViewContext& /*context*/) const override {
    return {};
  }
  std::string_view ArrayDocumentName() const override { return ""; }
  std::string_view ConsolidatedName(const GroupMetadata& /*metadata*/) const override { return ""; }
  std::string Consolidate(std::span<const NodeBelow> /*nodes*/) const override { return ""; }
  bool AllowsNodeName(std::string_view /*node*/) const override { return true; }
};

}  // namespace

const View& NcView() {
  static const NcViewImplementation view;
  return view;
}

}  // namespace zarrfs
