// SPDX-License-Identifier: Apache-2.0

internal import Studio

// Unknown keys in these requests are refused.
extension ProgramRequest: ClosedRequest {}
extension SourceRequest: ClosedRequest {}
extension OverlayRequest: ClosedRequest {}
