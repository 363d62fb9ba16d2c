package apiserver

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/install"
)

var (
	// Scheme knows the types of the group and those that every API server
	// answers with.
	Scheme = runtime.NewScheme()
	// Codecs read and write what Scheme knows.
	Codecs = serializer.NewCodecFactory(Scheme)
)

func init() {
	install.Install(Scheme)

	// The generic API server decodes the options of requests, and encodes Status
	// and discovery, in these versions.
	metav1.AddToGroupVersion(Scheme, schema.GroupVersion{Version: "v1"})
	Scheme.AddUnversionedTypes(schema.GroupVersion{Version: "v1"},
		&metav1.Status{},
		&metav1.APIVersions{},
		&metav1.APIGroupList{},
		&metav1.APIGroup{},
		&metav1.APIResourceList{},
	)
}

// textCodecs offers the text formats alone: our types have no protobuf form, so
// a client that accepts nothing else gets 406, and one that sends it 415.
type textCodecs struct{ serializer.CodecFactory }

// SupportedMediaTypes implements runtime.NegotiatedSerializer.
func (c textCodecs) SupportedMediaTypes() []runtime.SerializerInfo {
	var text []runtime.SerializerInfo
	for _, info := range c.CodecFactory.SupportedMediaTypes() {
		if info.MediaType == runtime.ContentTypeJSON || info.MediaType == runtime.ContentTypeYAML {
			text = append(text, info)
		}
	}
	return text
}
