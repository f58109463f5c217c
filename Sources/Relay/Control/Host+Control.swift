// SPDX-License-Identifier: Apache-2.0

internal import Control
internal import Library
internal import Media
internal import Segmenter
internal import Status

extension Host: ControlledHost {
    var channels: [String] { controls.map(\.name) }

    func channel(_ name: String) -> (any ControlledChannel)? { controls.first { $0.name == name } }

    var exports: ExportJobs { exportJobs }

    func startExport(_ request: ExportRequest) throws(Refusal) -> ExportJob {
        guard let control = controls.first(where: { $0.name == request.channel }) else {
            throw Refusal(.notFound, "There is no channel of this name.")
        }
        guard let recordings = control.archive else {
            throw Refusal(.conflict, "The channel has no directory of recordings.")
        }
        guard let archive = request.source.map(control.archive(ofSource:)) ?? recordings else {
            throw Refusal(.notFound, "No source of this name is recorded.")
        }
        // An export must not use the space that the storage guard keeps free for recording.
        let reserve = control.report.status?.storage?.reserveBytes ?? control.configuredReserve
        return try exportJobs.start(request, in: archive, reserve: reserve)
    }

    func planExport(_ request: ExportRequest) throws(Refusal) -> ExportPlan {
        guard let control = controls.first(where: { $0.name == request.channel }) else {
            throw Refusal(.notFound, "There is no channel of this name.")
        }
        guard let archive = control.archive else {
            throw Refusal(.conflict, "The channel has no directory of recordings.")
        }
        return try exportPlanning.plan(request, in: archive)
    }

    func check(_ address: String) -> AddressCheck { OutputCheck(resources).check(address) }

    func reload() throws(Refusal) -> Int {
        do throws(ReloadFailure) {
            return try reloadFile()
        } catch {
            switch error {
            case .none: throw Refusal(.conflict, "relay was started with flags, and has no file to read again.")
            case .ending: throw Refusal(.unavailable, "relay is about to end.")
            case .refused(let lines):
                throw Refusal(
                    .unusable, "The configuration file is not applied: \(lines.first ?? "")", errors: lines)
            }
        }
    }
}

/// Why a configuration file was not applied.
enum ReloadFailure: Error {
    /// The process was started without a configuration file.
    case none
    /// The process is ending.
    case ending
    /// The file's errors, one per line.
    case refused([String])
}
