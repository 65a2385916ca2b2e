// What `info` prints for a whole store: one line per array, then what each view omits, and why.
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

/// Bytes of all elements: "11.0 MiB"; "" if their size varies or cannot be told.
[[nodiscard]] std::string DecodedSizeText(const ArrayMetadata& metadata);

/// A text among the attributes, shortened for a line; "" if there is none.
[[nodiscard]] std::string AttributeText(const ArrayMetadata& metadata, std::string_view name);

/// Lines appear as nodes are added: a store of any size is shown from its first arrays on. The
/// number of names and reasons kept for the end is limited.
class Overview {
 public:
  /// Lines are printed by a function that is handed to `print`.
  using Printer = std::function<void(const std::function<void()>& print)>;
  explicit Overview(Printer print);

  /// An array that can be used: `views` by number, as DescribeView() has them.
  void AddArray(const Node& array, const std::vector<ViewSummary>& views,
                const StoredChunks& stored);
  /// A group, or a node that no view can show. Groups get a line only if there is more to say than
  /// their arrays.
  void AddOther(const Node& node, bool has_children);
  /// A line about something that is no node or cannot be read.
  void AddProblem(std::string_view path, std::string_view words, std::string_view reason);
  /// What a file that view number `view` makes of a group lacks.
  void AddLeftOut(std::string_view group, size_t view, std::string_view note);
  /// Prints the lines that are still held back.
  void Flush();
  /// The paragraph about the views.
  void Finish();

 private:
  struct Missing {
    std::string reason;
    std::vector<std::string> names;  // the first ones
    uint64_t count = 0;
  };
  struct ViewGaps {
    uint64_t count = 0;  // of arrays that it lacks
    std::vector<Missing> reasons;
    uint64_t further = 0;  // arrays that it lacks for reasons that are not kept
  };

  void PrintRows();
  void AddRow(std::vector<std::string> row);
  void AddGap(ViewGaps& gaps, const std::string& name, const std::string& reason);
  [[nodiscard]] static std::string Text(const ViewGaps& gaps);

  const Printer print_;
  std::vector<std::vector<std::string>> rows_;  // held back, so that columns are aligned
  std::vector<size_t> widths_;
  std::chrono::steady_clock::time_point flushed_;
  uint64_t arrays_ = 0;
  uint64_t unusable_ = 0;  // arrays besides those
  uint64_t groups_ = 0;
  std::vector<ViewGaps> gaps_;  // by view
  std::vector<std::string> left_out_;
  uint64_t further_left_out_ = 0;
};

}  // namespace zarrfs::ctl
