// Lets the threads of a command share the memory budget of the process.
#pragma once

#include <new>

#include "tools/zarrctl/interrupt.h"
#include "zarrcore/base/memory_budget.h"

namespace zarrfs::ctl {

/// Calls `attempt`, which returns a Result. If the attempt fails with kWouldBlock because other
/// threads hold the memory that it needs, calls `attempt` again while no other attempt holds
/// memory. Fails with kNoMemory if memory has run out.
template <typename Attempt>
auto WithinMemory(const Attempt& attempt) -> decltype(attempt()) {
  try {
    {
      const MemoryBudget::Work work(ProcessMemory());
      auto result = attempt();
      if (result || result.error().code != ErrorCode::kWouldBlock) return result;
    }
    const MemoryBudget::Alone alone(ProcessMemory(), StopRequested);
    return attempt();
  } catch (const std::bad_alloc&) {
    return Fail(ErrorCode::kNoMemory, "not enough memory; raise the limit with --memory=SIZE");
  }
}

}  // namespace zarrfs::ctl
