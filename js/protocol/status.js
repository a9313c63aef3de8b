// How a host stands that has said nothing of itself: as it would write it, in the order of its members.

export const STOPPED = '{"is_streaming":false,"lifecycle":"Stopped"}';
