// Reads the Prometheus text format, version 0.0.4
// (https://prometheus.io/docs/instrumenting/exposition_formats/).
#ifndef TOOLS_ZARRCTL_METRICS_TEXT_H_
#define TOOLS_ZARRCTL_METRICS_TEXT_H_

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "zarrcore/base/result.h"

namespace zarrfs::ctl {

using MetricLabels = std::map<std::string, std::string>;

struct MetricSample {
  std::string name;
  MetricLabels labels;
  double value = 0;
};

class Metrics {
 public:
  /// kDamaged, with the number of the line, for what is not in the format.
  [[nodiscard]] static Result<Metrics> Parse(std::string_view text);

  /// The sum of the samples of that name whose labels include `labels`; nullopt if there is none.
  [[nodiscard]] std::optional<double> Sum(std::string_view name,
                                          const MetricLabels& labels = {}) const;

  /// The values that a label takes in samples of that name, sorted.
  [[nodiscard]] std::vector<std::string> LabelValues(std::string_view name,
                                                     const std::string& label) const;

  /// The label of the first sample of that name; empty if there is none.
  [[nodiscard]] std::string Label(std::string_view name, const std::string& label) const;

  /// What a share (0.99) of the observations of a histogram does not exceed, taken to lie evenly
  /// inside their bucket; beyond the last bound, that bound. nullopt without observations.
  [[nodiscard]] std::optional<double> Quantile(const std::string& name, const MetricLabels& labels,
                                               double share) const;

 private:
  std::vector<MetricSample> samples_;
};

}  // namespace zarrfs::ctl

#endif  // TOOLS_ZARRCTL_METRICS_TEXT_H_
