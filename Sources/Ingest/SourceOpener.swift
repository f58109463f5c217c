// SPDX-License-Identifier: Apache-2.0

public import Logging

/// Opens inputs.
public enum SourceOpener {
    /// Opens `location` and finds out what it is. Blocks until the input answers, 15 s at most for one that is called;
    /// an input that listens waits for its peer without limit. Start the source to make it deliver.
    public static func open(
        _ location: InputLocation, options: IngestOptions, logger: Logger
    ) throws(IngestError) -> any MediaSource {
        if location.isTest { return try TestSource(options: options) }
        return try LibAVSource(location, options: options, logger: logger)
    }
}
