// SPDX-License-Identifier: Apache-2.0

internal import Catalogue

/// Where finished files go: to a remote, or through a command.
protocol SegmentDelivery: Sendable {
    /// Hands over the file of `segment` at `path`, which is absolute, and returns in a few words what was done. Every
    /// program that this runs holds `lock`. A cancelled task ends the program that runs.
    func deliver(_ segment: CatalogueSegment, at path: String, holding lock: UploadLock) async throws(DeliveryFailure)
        -> String
}

/// Why a file could not be handed over, or a program not be run, in words without secrets.
package struct DeliveryFailure: Error, Equatable, CustomStringConvertible {
    package let description: String
    /// Whether the file is only to be tried later, which is no failure of it.
    let isLater: Bool

    init(_ description: String, isLater: Bool = false) { (self.description, self.isLater) = (description, isLater) }
}

/// Why uploading is not possible at all, in one sentence for the operator who starts the program.
package struct UploadRefusal: Error, Sendable, Equatable, CustomStringConvertible {
    package let description: String

    init(_ description: String) { self.description = description }
}
