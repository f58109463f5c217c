// SPDX-License-Identifier: Apache-2.0

internal import Studio

// What a program is asked for has no keys but those that it says.
extension ProgramRequest: ClosedRequest {}
extension SourceRequest: ClosedRequest {}
extension OverlayRequest: ClosedRequest {}
