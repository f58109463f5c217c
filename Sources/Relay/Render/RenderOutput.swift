// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Channel
internal import Ingest
internal import Media
internal import Program
internal import Studio

/// Checks where a rendered show may be written. It must not replace its own sources, and the rules of ``ExportOutput``
/// apply as well.
enum RenderOutput {
    /// Checks `output` before anything is opened for the show of `configuration`, whose run-down is the file `show`.
    /// Blocks on the disk. Throws ``ChannelFailure`` if the show cannot, or must not, be written there.
    static func check(
        _ output: String, of configuration: ChannelConfiguration, in show: String, replaces: Bool
    ) throws(ChannelFailure) {
        if let status = FileStatus(output), status.kind != .regular {
            let kind = status.kind == .directory ? "a directory" : "no regular file"
            throw ChannelFailure(
                .cannotRecord, .makeFile(output), saying: "\(output) is \(kind); name the file to make.")
        }
        // The message does not contain the path of the file that `output` would replace, because that path may contain
        // the value of a secret.
        if ExportOutput.original(of: output, in: [show] + configuration.ownFiles) != nil {
            throw ChannelFailure(
                .cannotRecord, .makeFile(output),
                saying: "\(output) is one of the show's own files; name another file.")
        }
        let recordings = ExportOutput.recordings(around: output)
        if let objection = ExportOutput.objection(to: output, recordings: recordings, replaces: replaces) {
            throw ChannelFailure(.cannotRecord, .makeFile(output), saying: objection)
        }
    }
}

extension ChannelConfiguration {
    /// The paths of the program's source files.
    fileprivate var ownFiles: [String] {
        // An input's description shows references to secrets in place of their values. The references are expanded,
        // because the file's real path contains the values.
        let inputs = allInputs.filter(\.isFile).map { input in
            (try? SecretReferences.process.expand(input.description)) ?? input.description
        }
        let clips = (runDown?.segments ?? []).compactMap { $0.clip?.path }
        return inputs + clips + stingers.map(\.path) + overlays.flatMap(\.files)
    }
}

extension OverlaySpecification {
    /// The paths of the overlay's image and font.
    fileprivate var files: [String] {
        let image: String? = if case .image(let path) = content { path } else { nil }
        return [image, font].compactMap(\.self)
    }
}
