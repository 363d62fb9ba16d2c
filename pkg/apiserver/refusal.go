package apiserver

import (
	"context"
	"errors"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/klog/v2"

	"socialweb.computer/infra-apiserver/internal/kcp/door"
	"socialweb.computer/infra-apiserver/internal/metrics"
)

// refusal is a request that is refused before anything of the server has seen it.
type refusal struct {
	why metrics.DoorRefusal
	who caller
	err error // an API status
}

func refuse(why metrics.DoorRefusal, who caller, err error) *refusal {
	return &refusal{why, who, err}
}

// forbidden is a 403 that names no object.
func forbidden(text string) *apierrors.StatusError {
	err := apierrors.NewForbidden(schema.GroupResource{}, "", errors.New(text))
	err.ErrStatus.Message, err.ErrStatus.Details = text, nil
	return err
}

// because names the cause, by which kcp init knows who has answered.
func because(cause metav1.CauseType, err *apierrors.StatusError) error {
	err.ErrStatus.Details = door.Details(cause)
	return err
}

// answer tells the client, and the log and the metric once.
func (f *refusal) answer(w http.ResponseWriter, r *http.Request, codecs runtime.NegotiatedSerializer) {
	more := []any{"because", f.err.Error()}
	switch {
	case f.who.fault != nil:
		more = append(more, "fault", shortened(f.who.fault.Error()))
	case f.who.known && !f.who.shard:
		more = append(more, "fault", "its name matches none of "+flagShardNames)
	}
	logRefusal(r.Context(), f.why, r.RemoteAddr, r.URL.EscapedPath(), f.who.cn, more...)
	if r.ProtoMajor == 2 && !f.who.shard {
		// Strangers keep no connection, as with the stock handler of 401.
		w.Header().Set("Connection", "close")
	}
	responsewriters.ErrorNegotiated(f.err, codecs, schema.GroupVersion{Version: "v1"}, w, r)
}

// logRefusal logs and counts a refusal. Path and name are what a stranger wrote.
func logRefusal(ctx context.Context, why metrics.DoorRefusal, remote, path, cn string, more ...any) {
	metrics.DoorRefused(why)
	fields := []any{"reason", string(why), "remote", remote, "path", shortened(path)}
	if cn != "" {
		fields = append(fields, "certificate", shortened(cn))
	}
	klog.FromContext(ctx).Info("Refused at a door", append(fields, more...)...)
}

// longest is how much of what a stranger wrote is logged, in bytes.
const longest = 256

func shortened(s string) string {
	if len(s) <= longest {
		return s
	}
	return s[:longest] + "…"
}
