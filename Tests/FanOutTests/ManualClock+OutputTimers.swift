// SPDX-License-Identifier: Apache-2.0

import FanOut
import TestSupport

extension ManualClock: OutputTimers {}
