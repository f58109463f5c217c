// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Channel
internal import Ingest
internal import Media
internal import Program
internal import Studio

/// Where a rendered show may go: not in the place of what it is made of, and where no export may go, either.
enum RenderOutput {
    /// Looks at `output` before anything is opened for the show of `configuration`, whose run-down is the file `show`.
    /// Blocks on the disk. Throws ``ChannelFailure`` where the show cannot be put there, or must not be.
    static func check(
        _ output: String, of configuration: ChannelConfiguration, in show: String, replaces: Bool
    ) throws(ChannelFailure) {
        if let status = FileStatus(output), status.kind != .regular {
            let kind = status.kind == .directory ? "a directory" : "no regular file"
            throw ChannelFailure(.cannotRecord, "\(output) is \(kind); name the file to make.")
        }
        // Not which: the path may have what a reference refers to.
        if ExportOutput.original(of: output, in: [show] + configuration.ownFiles) != nil {
            throw ChannelFailure(.cannotRecord, "\(output) is one of the show's own files; name another file.")
        }
        let recordings = ExportOutput.recordings(around: output)
        if let objection = ExportOutput.objection(to: output, recordings: recordings, replaces: replaces) {
            throw ChannelFailure(.cannotRecord, objection)
        }
    }
}

extension ChannelConfiguration {
    /// The paths of the files that its program is made of.
    fileprivate var ownFiles: [String] {
        // An address is shown with its references, and not with what they refer to.
        let inputs = allInputs.filter(\.isFile).map { input in
            (try? SecretReferences.process.expand(input.description)) ?? input.description
        }
        let clips = (runDown?.segments ?? []).compactMap { $0.clip?.path }
        return inputs + clips + stingers.map(\.path) + overlays.flatMap(\.files)
    }
}

extension OverlaySpecification {
    /// The paths of its image and its font.
    fileprivate var files: [String] {
        let image: String? = if case .image(let path) = content { path } else { nil }
        return [image, font].compactMap(\.self)
    }
}
