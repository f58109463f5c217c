// SPDX-License-Identifier: Apache-2.0

internal import Channel
internal import Control

/// Tests the address of an output before it is added: whether the address is valid, and then, depending on the kind of
/// output, its host name, its server, its port or its directory. Blocks.
struct OutputCheck {
    private let resources: HostResources

    init(_ resources: HostResources) { self.resources = resources }

    /// Tests `address`, and returns the result, which contains no secrets.
    func check(_ address: String) -> AddressCheck {
        let output: OutputSpecification
        do throws(OutputSpecificationError) {
            output = try OutputSpecification(requested: address)
        } catch {
            return AddressCheck([.init("address", .failed, "\(error)")])
        }
        let written = AddressCheck.Step("address", .ok, "The address is well formed.")
        let check = ChannelCheck(ChannelConfiguration(), resources: resources)
        let addresses = [("reach", output.address)] + (output.backup.map { [("backup", $0)] } ?? [])
        let found = addresses.map { name, address in
            let row = check.row(of: address, name)
            return AddressCheck.Step(name, row.result == .failed ? .failed : .ok, row.text)
        }
        return AddressCheck([written] + found)
    }
}
