// SPDX-License-Identifier: Apache-2.0

internal import Catalogue

/// Delivers finished files: to a remote, or through a command.
protocol SegmentDelivery: Sendable {
    /// Delivers the file of `segment` at the absolute path `path`. Every program that the delivery runs holds `lock`.
    /// If the task is cancelled, the running program ends.
    func deliver(_ segment: CatalogueSegment, at path: String, holding lock: UploadLock) async throws(DeliveryFailure)
        -> Delivered
}

/// The result of a delivery, without secrets.
struct Delivered: Equatable {
    /// The place of the copy, or the path of the command that was run.
    let place: String
    /// What was done, in a few words.
    let text: String
}

/// Why a file could not be delivered, or a program could not be run, in words without secrets.
package struct DeliveryFailure: Error, Equatable, CustomStringConvertible {
    package let description: String
    /// Whether the file was only postponed, which does not count as a failure.
    let isLater: Bool

    init(_ description: String, isLater: Bool = false) { (self.description, self.isLater) = (description, isLater) }
}

/// Why uploading is impossible, in one sentence for the operator who starts relay.
package struct UploadRefusal: Error, Sendable, Equatable, CustomStringConvertible {
    package let description: String

    init(_ description: String) { self.description = description }
}
