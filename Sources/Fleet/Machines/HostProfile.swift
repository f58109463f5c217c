// SPDX-License-Identifier: Apache-2.0

/// Amounts of what channels need from a host.
package struct Resources: Sendable, Equatable {
    /// Thousandths of a processor core.
    package var milliCores: Int64
    /// Bytes that are written to the disk in a second.
    package var diskBytesPerSecond: Int64
    /// Bits that are sent and received in a second.
    package var networkBitsPerSecond: Int64

    /// These amounts.
    package init(milliCores: Int64 = 0, diskBytesPerSecond: Int64 = 0, networkBitsPerSecond: Int64 = 0) {
        (self.milliCores, self.diskBytesPerSecond) = (milliCores, diskBytesPerSecond)
        self.networkBitsPerSecond = networkBitsPerSecond
    }

    /// The sums of both amounts.
    package static func + (left: Self, right: Self) -> Self {
        Self(
            milliCores: left.milliCores + right.milliCores,
            diskBytesPerSecond: left.diskBytesPerSecond + right.diskBytesPerSecond,
            networkBitsPerSecond: left.networkBitsPerSecond + right.networkBitsPerSecond)
    }

    /// The differences of both amounts.
    package static func - (left: Self, right: Self) -> Self {
        Self(
            milliCores: left.milliCores - right.milliCores,
            diskBytesPerSecond: left.diskBytesPerSecond - right.diskBytesPerSecond,
            networkBitsPerSecond: left.networkBitsPerSecond - right.networkBitsPerSecond)
    }

    /// The larger of both amounts, for each resource.
    package func merged(with other: Self) -> Self {
        Self(
            milliCores: max(milliCores, other.milliCores),
            diskBytesPerSecond: max(diskBytesPerSecond, other.diskBytesPerSecond),
            networkBitsPerSecond: max(networkBitsPerSecond, other.networkBitsPerSecond))
    }

    /// The largest share of `capacity` that these amounts take, in thousandths. A resource that is needed but does not
    /// exist counts as taken several times over.
    package func load(of capacity: Self) -> Int64 {
        func share(_ part: Int64, _ whole: Int64) -> Int64 {
            part <= 0 ? 0 : whole <= 0 ? 1_000_000 : part * 1000 / whole
        }
        return max(
            share(milliCores, capacity.milliCores), share(diskBytesPerSecond, capacity.diskBytesPerSecond),
            share(networkBitsPerSecond, capacity.networkBitsPerSecond))
    }
}

/// What a host offers to channels, as it is configured and measured.
package struct HostProfile: Sendable, Equatable {
    /// The name of the host in the fleet.
    package var name: String
    /// The labels of the host, to which `needs:` and `prefer:` of channels refer.
    package var labels: Set<String>
    /// What the host can give to channels, without the reserve of the operating system.
    package var capacity: Resources
    /// What is in use on the host, as it was last measured, by channels and by anything else.
    package var measured: Resources

    /// A host with these figures.
    package init(
        name: String, labels: Set<String> = [], capacity: Resources, measured: Resources = Resources()
    ) {
        (self.name, self.labels, self.capacity, self.measured) = (name, labels, capacity, measured)
    }
}

/// What a channel demands of the host that holds it.
package struct ChannelDemand: Sendable, Equatable {
    /// Labels that the host must have.
    package var needs: Set<String>
    /// Labels that the host should have. A host's name is one of its labels for this purpose.
    package var prefers: Set<String>
    /// What the channel will use, estimated before it runs.
    package var cost: Resources

    /// A channel with these demands.
    package init(needs: Set<String> = [], prefers: Set<String> = [], cost: Resources = Resources()) {
        (self.needs, self.prefers, self.cost) = (needs, prefers, cost)
    }
}
