package kube

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Reason is what an error of this package comes to.
type Reason string

// The reasons. Forbidden needs a person; Conflict, Throttled and Unreachable
// pass by themselves; Invalid is a mistake of ours or an admission policy's
// refusal of the content.
const (
	// Forbidden is a missing right or a token that is not accepted.
	Forbidden Reason = "forbidden"
	// Conflict is somebody else who was faster, several times in a row.
	Conflict Reason = "conflict"
	// Throttled is an API server that asks for less.
	Throttled Reason = "throttled"
	// Unreachable is no answer, a late one, or one of the 5xx.
	Unreachable Reason = "unreachable"
	Invalid     Reason = "invalid"
	NotFound    Reason = "notfound"
	Other       Reason = "other"
)

// Classify returns the reason of an error that this package returned, and the
// empty Reason for nil.
func Classify(err error) Reason {
	var status apierrors.APIStatus
	var transport *url.Error
	switch {
	case err == nil:
		return ""
	case errors.As(err, &status):
		return ofCode(int(status.Status().Code))
	case errors.Is(err, context.Canceled):
		return Other
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &transport):
		return Unreachable
	}
	return Other
}

func ofCode(code int) Reason {
	switch code {
	case http.StatusUnauthorized, http.StatusForbidden:
		return Forbidden
	case http.StatusNotFound:
		return NotFound
	case http.StatusConflict:
		return Conflict
	case http.StatusTooManyRequests:
		return Throttled
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		return Invalid
	}
	if code >= http.StatusInternalServerError {
		return Unreachable
	}
	return Other
}
