// Overview: the output of `info` for a whole store. The output has one line per array, followed by
// a list of what each view omits, and why.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/zarrctl/describe.h"
#include "tools/zarrctl/stored_chunks.h"
#include "zarrcore/hierarchy/hierarchy.h"

namespace zarrfs::ctl {

/// The size of all elements in words, such as "11.0 MiB"; "" if the size of elements varies or is
/// unknown.
[[nodiscard]] std::string DecodedSizeText(const ArrayMetadata& metadata);

/// The value of the attribute `name`, shortened to fit into a line; "" if it is absent.
[[nodiscard]] std::string AttributeText(const ArrayMetadata& metadata, std::string_view name);

/// Prints lines as nodes are added, so the first arrays of a large store appear early. The number
/// of names and reasons that are stored for the end of the output is limited.
class Overview {
 public:
  /// Calls its argument `print`, which prints lines. So the caller can hide a progress line first.
  using Printer = std::function<void(const std::function<void()>& print)>;
  explicit Overview(Printer print);

  /// Adds an array whose chunks can be found. `views`: the results of DescribeView(), by view
  /// number.
  void AddArray(const Node& array, const std::vector<ViewSummary>& views,
                const StoredChunks& stored);
  /// Adds a group, or a node that no view can show. Groups get no line of their own.
  void AddOther(const Node& node);
  /// Adds a line about a group that contains no nodes.
  void AddEmpty(const Node& group);
  /// Adds a line about an entry of the store that is not a node or cannot be read.
  void AddProblem(std::string_view path, std::string_view words, std::string_view reason);
  /// Adds a note about the file that view number `view` makes from a group, such as what the file
  /// leaves out.
  void AddLeftOut(std::string_view group, size_t view, std::string_view note);
  /// Prints the rows that are held back.
  void Flush();
  /// Prints the number of arrays, which of them each view omits, and why.
  void Finish();

 private:
  struct Missing {
    std::string reason;
    std::vector<std::string> names;  // the first arrays that the view omits for this reason
    uint64_t count = 0;
  };
  struct ViewGaps {
    uint64_t count = 0;  // the number of arrays that the view omits, for any reason
    std::vector<Missing> reasons;
    uint64_t further = 0;  // the number of arrays omitted for reasons that are not stored
  };

  void PrintRows();
  void AddRow(std::vector<std::string> row);
  void AddGap(ViewGaps& gaps, const std::string& name, const std::string& reason);
  [[nodiscard]] static std::string Text(const ViewGaps& gaps);

  const Printer print_;
  // Rows that are held back until the width of the columns is known.
  std::vector<std::vector<std::string>> rows_;
  std::vector<size_t> widths_;
  std::chrono::steady_clock::time_point flushed_;
  uint64_t arrays_ = 0;
  uint64_t unusable_ = 0;  // the number of arrays that no view can show; not included in arrays_
  uint64_t groups_ = 0;
  std::vector<ViewGaps> gaps_;  // by view number
  std::vector<std::string> left_out_;
  uint64_t further_left_out_ = 0;
};

}  // namespace zarrfs::ctl
