package socialweb

// Condition types of Infra and EphemeralInfra.
const (
	// ConditionReady is True while the object is what its spec asks for. For an
	// AtprotoRepo: while it can be read, and written where its access says so.
	ConditionReady = "Ready"
	// ConditionRecordValid is False while the record can't be read as a
	// declaration. The object keeps its last valid one, and the message names the
	// record's cid and the fault.
	ConditionRecordValid = "RecordValid"
	// ConditionSyncConflict is True when a write to the API lost against an edit
	// made elsewhere. The next successful write of the declaration clears it.
	ConditionSyncConflict = "SyncConflict"
	// ConditionStatusContested is True while somebody else keeps rewriting the
	// status in the record.
	ConditionStatusContested = "StatusContested"
)

// Condition types of AtprotoRepo, beside ConditionReady.
const (
	// ConditionReachable is True while the PDS answers.
	ConditionReachable = "Reachable"
	// ConditionAuthorized is True while the PDS accepts the credentials.
	ConditionAuthorized = "Authorized"
	// ConditionStreaming is True while the event source delivers.
	ConditionStreaming = "Streaming"
	// ConditionSwapSupported is True when the PDS was seen to honour swapRecord.
	ConditionSwapSupported = "SwapSupported"
	// ConditionInUse is True while objects are bound to the repository, which
	// keeps it from being deleted. The message lists them.
	ConditionInUse = "InUse"
)

// Reasons of conditions.
const (
	// ReasonRecordWon is the reason of SyncConflict: the record's edit was
	// committed, the API's was not.
	ReasonRecordWon = "RecordWon"
	// ReasonNoConflict is the reason of SyncConflict=False.
	ReasonNoConflict = "NoConflict"
	// ReasonValid is the reason of RecordValid=True.
	ReasonValid = "Valid"
	// ReasonInvalidRecord is the reason of RecordValid=False.
	ReasonInvalidRecord = "InvalidRecord"
	// ReasonForeignWriter is the reason of StatusContested=True.
	ReasonForeignWriter = "ForeignWriter"
	// ReasonUncontested is the reason of StatusContested=False.
	ReasonUncontested = "Uncontested"
)
