package socialweb

const (
	// CategorySocialweb is the category of every resource of the group.
	CategorySocialweb = "socialweb"
	// ShortNameInfra is the short name of infras.
	ShortNameInfra = "inf"
	// ShortNameEphemeralInfra is the short name of ephemeralinfras.
	ShortNameEphemeralInfra = "einf"
	// ShortNameAtprotoRepo is the short name of atprotorepos.
	ShortNameAtprotoRepo = "arepo"
)

const (
	// FinalizerRelease keeps a deployment until its contracts are released.
	FinalizerRelease = "infra.socialweb.computer/release"
	// FinalizerInUse keeps an AtprotoRepo while objects are bound to it.
	FinalizerInUse = "infra.socialweb.computer/in-use"
	// LabelKind names the kind of the deployment that owns an object.
	LabelKind = "infra.socialweb.computer/kind"
	// LabelName names the deployment that owns an object.
	LabelName = "infra.socialweb.computer/name"
)
