// The status of a host that has said nothing of itself yet, in the order in which hosts write its members.

export const STOPPED = '{"is_streaming":false,"lifecycle":"Stopped"}';
