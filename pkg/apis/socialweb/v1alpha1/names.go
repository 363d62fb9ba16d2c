package v1alpha1

const (
	// CategorySocialweb is the category of every resource of the group.
	CategorySocialweb = "socialweb"
	// ShortNameInfra is the short name of infras.
	ShortNameInfra = "inf"
	// ShortNameEphemeralInfra is the short name of ephemeralinfras.
	ShortNameEphemeralInfra = "einf"
	// ShortNameInfraCollection is the short name of infracollections.
	ShortNameInfraCollection = "infcol"
	// ShortNameEphemeralInfraCollection is the short name of
	// ephemeralinfracollections.
	ShortNameEphemeralInfraCollection = "einfcol"
	// ShortNameComputeContract is the short name of computecontracts.
	ShortNameComputeContract = "cc"
	// ShortNameAtprotoRepo is the short name of atprotorepos.
	ShortNameAtprotoRepo = "arepo"
)

const (
	// FinalizerRelease keeps a deployment until its contracts are released, and a
	// ComputeContract until it is Released or Failed and its deployment knows.
	FinalizerRelease = "infra.socialweb.computer/release"
	// FinalizerInUse keeps an AtprotoRepo while objects are bound to it.
	FinalizerInUse = "infra.socialweb.computer/in-use"
	// FinalizerChildren keeps a collection until its children are gone or orphaned.
	FinalizerChildren = "infra.socialweb.computer/children"
	// LabelContract names the contract that a ComputeContract stands for.
	LabelContract = "infra.socialweb.computer/contract"
	// LabelCollection names the collection that serves an object.
	LabelCollection = "infra.socialweb.computer/collection"
	// LabelKind names the kind of the deployment that owns an object.
	LabelKind = "infra.socialweb.computer/kind"
	// LabelName names the deployment that owns an object.
	LabelName = "infra.socialweb.computer/name"
	// AnnotationReleasing is on the AtprotoRepos of a workspace that is being released:
	// one whose release was interrupted is known by it.
	AnnotationReleasing = "infra.socialweb.computer/releasing"
)
