package controller

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// placingCodecs decode objects so that their workspace is their namespace. The kinds
// have none, and an informer knows its objects by namespace and name: without it two
// workspaces' objects of one name would be one.
type placingCodecs struct{ runtime.NegotiatedSerializer }

// DecoderToVersion implements runtime.NegotiatedSerializer.
func (c placingCodecs) DecoderToVersion(d runtime.Decoder, gv runtime.GroupVersioner) runtime.Decoder {
	return placingDecoder{c.NegotiatedSerializer.DecoderToVersion(d, gv)}
}

type placingDecoder struct{ runtime.Decoder }

// Decode implements runtime.Decoder.
func (d placingDecoder) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	obj, gvk, err := d.Decoder.Decode(data, defaults, into)
	if err != nil {
		return obj, gvk, err
	}
	if meta.IsListType(obj) {
		return obj, gvk, meta.EachListItem(obj, place)
	}
	return obj, gvk, place(obj)
}

// place an object. What has no metadata of its own, such as a Status, stays as it is.
func place(obj runtime.Object) error {
	if m, ok := obj.(metav1.Object); ok {
		m.SetNamespace(workspaceOf(m))
	}
	return nil
}

// unplaced is the metadata of an object of an informer as the server knows it.
func unplaced(m metav1.ObjectMeta) metav1.ObjectMeta {
	m.Namespace = ""
	return m
}
