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
	// ConditionContractsCurrent is False while a ComputeContract was made of a
	// declaration that has changed since. The message names the contracts: stage and
	// request them again.
	ConditionContractsCurrent = "ContractsCurrent"
	// ConditionExecuting is False while contracts are requested and may not run. The
	// message says why.
	ConditionExecuting = "Executing"
	// ConditionContractsAdmitted is False while the API refuses what the companion
	// controller asks of it for the contracts, the creation of a ComputeContract above
	// all. The message says what, for which contracts, and in the API's words why. Absent
	// otherwise.
	ConditionContractsAdmitted = "ContractsAdmitted"
	// ConditionWorkspaceBound is False, reason WorkspaceGone, while the workspace of the
	// object doesn't bind the APIExport any more, or isn't there: the object is kept, and
	// nothing new is requested for it. True once it is back. Absent on objects whose
	// workspace never went.
	ConditionWorkspaceBound = "WorkspaceBound"
	// ConditionExpiredAtFirstSight is True on an EphemeralInfra whose record was
	// expired when it was first seen: it is shown, and never runs nor ends.
	ConditionExpiredAtFirstSight = "ExpiredAtFirstSight"
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

// Condition types of collections, beside ConditionReady.
const (
	// ConditionTruncated is True while records of the repository are not served: it has
	// more than spec.maxItems, or the workspace has no room. An AtprotoRepo has it once
	// its workspace had none.
	ConditionTruncated = "Truncated"
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
	// ReasonExpired is the reason of ExpiredAtFirstSight=True.
	ReasonExpired = "Expired"
	// ReasonWorkspaceGone is the reason of WorkspaceBound=False, and of Executing=False
	// because of that.
	ReasonWorkspaceGone = "WorkspaceGone"
	// ReasonWorkspaceBound is the reason of WorkspaceBound=True.
	ReasonWorkspaceBound = "Bound"
)

// Reasons of ContractsAdmitted=False.
const (
	// ReasonQuotaExceeded: the workspace is full.
	ReasonQuotaExceeded = "QuotaExceeded"
	// ReasonDenied: an admission webhook or policy denies it.
	ReasonDenied = "Denied"
	// ReasonWebhookFailed: an admission webhook that must be asked doesn't answer.
	ReasonWebhookFailed = "WebhookFailed"
	// ReasonForbidden: the controller lacks a right.
	ReasonForbidden = "Forbidden"
	// ReasonInvalid: what it sends isn't taken as it is.
	ReasonInvalid = "Invalid"
	// ReasonNameTaken: other objects have the names for the ComputeContract.
	ReasonNameTaken = "NameTaken"
)

// Reasons of the conditions of collections.
const (
	// ReasonServing is the reason of Ready=True, of an AtprotoRepo too.
	ReasonServing = "Serving"
	// ReasonAlreadyCollected: another collection of the kind, made before, serves the
	// records of the AtprotoRepo.
	ReasonAlreadyCollected = "AlreadyCollected"
	// ReasonRepoNotFound: there is no AtprotoRepo of that name.
	ReasonRepoNotFound = "RepoNotFound"
	// ReasonRepoNotReady: the AtprotoRepo can't be read now, or not all its records
	// were read yet.
	ReasonRepoNotReady = "RepoNotReady"
	// ReasonDeleting: the collection is being deleted and waits for its children.
	ReasonDeleting = "Deleting"
	// ReasonOrphaning: the collection is being deleted and its children stay.
	ReasonOrphaning = "Orphaning"
	// ReasonMaxItems is the reason of Truncated=True where spec.maxItems leaves records
	// out.
	ReasonMaxItems = "MaxItems"
	// ReasonWorkspaceFull is the reason of Truncated=True, of an AtprotoRepo too, where a
	// limit of the workspace does.
	ReasonWorkspaceFull = "WorkspaceFull"
	// ReasonAllServed is the reason of Truncated=False.
	ReasonAllServed = "AllServed"
)
