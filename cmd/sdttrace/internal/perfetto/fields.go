package perfetto

import "google.golang.org/protobuf/encoding/protowire"

// Fields, by the message that has them.
const (
	tracePacket protowire.Number = 1

	// TracePacket
	packetClockSnapshot   protowire.Number = 6
	packetTimestamp       protowire.Number = 8
	packetSequence        protowire.Number = 10 // trusted_packet_sequence_id
	packetTrackEvent      protowire.Number = 11
	packetInterned        protowire.Number = 12
	packetFlags           protowire.Number = 13 // sequence_flags
	packetDefaults        protowire.Number = 59
	packetTrackDescriptor protowire.Number = 60

	defaultsClock protowire.Number = 58 // timestamp_clock_id

	// ClockSnapshot
	snapshotClock   protowire.Number = 1
	snapshotPrimary protowire.Number = 2
	clockID         protowire.Number = 1
	clockTimestamp  protowire.Number = 2

	// TrackDescriptor
	trackUUID     protowire.Number = 1
	trackName     protowire.Number = 2
	trackProcess  protowire.Number = 3
	trackThread   protowire.Number = 4
	trackParent   protowire.Number = 5
	trackCounter  protowire.Number = 8
	processPID    protowire.Number = 1
	processName   protowire.Number = 6
	threadPID     protowire.Number = 1
	threadTID     protowire.Number = 2
	threadName    protowire.Number = 5
	counterUnit   protowire.Number = 3
	unitTimeNanos                  = 1

	// TrackEvent
	eventCategory      protowire.Number = 3 // category_iids
	eventAnnotation    protowire.Number = 4 // debug_annotations
	eventType          protowire.Number = 9
	eventName          protowire.Number = 10 // name_iid
	eventTrack         protowire.Number = 11 // track_uuid
	eventCounter       protowire.Number = 30 // counter_value
	eventDoubleCounter protowire.Number = 44
	eventFlow          protowire.Number = 47 // flow_ids
	eventCallstack     protowire.Number = 56 // callstack_iid

	// DebugAnnotation
	annotationName    protowire.Number = 1 // name_iid
	annotationBool    protowire.Number = 2
	annotationUint    protowire.Number = 3
	annotationInt     protowire.Number = 4
	annotationDouble  protowire.Number = 5
	annotationString  protowire.Number = 6
	annotationPointer protowire.Number = 7
	annotationEntry   protowire.Number = 11 // dict_entries
	annotationElement protowire.Number = 12 // array_values

	// InternedData
	internedCategory  protowire.Number = 1
	internedName      protowire.Number = 2
	internedArgument  protowire.Number = 3 // debug_annotation_names
	internedFunction  protowire.Number = 5
	internedFrame     protowire.Number = 6
	internedCallstack protowire.Number = 7
	internedBuildID   protowire.Number = 16
	internedPath      protowire.Number = 17 // mapping_paths
	internedSource    protowire.Number = 18
	internedMapping   protowire.Number = 19
	internedID        protowire.Number = 1 // of all of them
	internedText      protowire.Number = 2
	mappingBuildID    protowire.Number = 2
	mappingPath       protowire.Number = 7
	frameFunction     protowire.Number = 2
	frameMapping      protowire.Number = 3
	frameOffset       protowire.Number = 4 // rel_pc
	frameSource       protowire.Number = 5
	frameLine         protowire.Number = 6
	callstackFrame    protowire.Number = 2
)

// Values of enumerations: TrackEvent.Type, TracePacket.SequenceFlags, BuiltinClock.
const (
	sliceBegin = 1
	sliceEnd   = 2
	instant    = 3
	counter    = 4

	stateCleared = 1 // SEQ_INCREMENTAL_STATE_CLEARED
	stateNeeded  = 2 // SEQ_NEEDS_INCREMENTAL_STATE

	clockRealtime  = 1
	clockMonotonic = 3
	clockBoottime  = 6
)
