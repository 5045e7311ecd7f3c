"""Temporary: networks of CybORG's scenario files."""
from pathlib import Path
from typing import Any
import yaml
from workflow_rl.scenario.images import IMAGES, PORTS
from workflow_rl.scenario.network import *
from workflow_rl.scenario.network import Network

SHIPPED = ("scenario2",)
_V = {"None": 0.0, "Low": 0.1, "Medium": 1.0, "High": 10.0}
GREEN=("Enterprise0","Enterprise1","Enterprise2","User0","User1","User2","User3","User4")

def read_yaml(text, name):
    d = yaml.safe_load(text)
    H=d["Hosts"]; S=d["Subnets"]; A=d["Agents"]
    zone_of={h:s for s,v in S.items() for h in v["Hosts"]}
    red=A["Red"]; blue=A["Blue"]; green=A.get("Green")
    foothold=red["starting_sessions"][0]["hostname"]
    home=zone_of[foothold]
    allowed=red["AllowedSubnets"]
    order=list(H)
    def val(h,k): return _V[str(H[h].get(k,"Low"))]
    server=[x for x in blue["starting_sessions"] if x["type"]=="VelociraptorServer"][0]
    clients={x["hostname"] for x in blue["starting_sessions"] if x["type"]=="VelociraptorClient"}
    bint=blue["INT"]["Hosts"]
    def bl(h):
        if h not in bint: return Blue.HIDDEN
        if h in clients: return Blue.WATCHED
        return Blue.UNWATCHED if h==server["hostname"] else Blue.NO_AGENT
    def reveals(info):
        out=[]
        for y in order:
            if y not in (info or {}): continue
            e=info[y] or {}
            i=e.get("Interfaces"); full=i=="All"; addr=i is not None
            if full and zone_of[y] not in allowed: full=addr=False
            ot=bool(e.get("Services"))
            if addr or ot: out.append(Reveal(y,addr,full,ot))
        return tuple(out)
    hosts=tuple(Host(h,H[h]["image"],val(h,"ConfidentialityValue"),val(h,"AvailabilityValue"),reveals(H[h].get("info")),bl(h)) for h in H)
    zones=[]
    for s,v in S.items():
        n=v.get("NACLs",{})
        e=n.get(home,n.get("all"))
        r,p=Reach.CLOSED,None
        if e is not None:
            i=e["in"]
            if i=="all" or (isinstance(i,list) and "all" in i): r=Reach.OPEN
            elif i=="None": r=Reach.GATED
            else:
                r=Reach.OPEN; p=tuple(q for q in PORTS if any(a["PortRange"][0]<=q<a["PortRange"][1] for a in i))
        zones.append(Zone(s,tuple(v["Hosts"]),r,(),p))
    known=[]
    for y,e in red["INT"]["Hosts"].items():
        full=e.get("Interfaces")=="All"
        known.append(Reveal(y,True,full))
    gint=(green or {}).get("INT",{}).get("Hosts",{}) if green else {}
    gs=bool((green or {}).get("starting_sessions"))
    roles=Roles(("Op_Server0",) if "Op_Server0" in H else (), tuple(h for h in H if "Enterprise" in h),
      "User0" if red["INT"]["Hosts"].get("User0",{}).get("Interfaces")=="All" else None,
      tuple(h for h in H if "Op" in h), tuple(h for h in H if "Ent" in h),
      tuple(g if g in H and g in gint and gs else None for g in GREEN))
    u=red["starting_sessions"][0]["username"]
    return Network(name,hosts,tuple(zones),foothold,tuple(known),(u=="SYSTEM")==IMAGES[H[foothold]["image"]].windows,roles,tuple(blue["actions"]))

from dataclasses import replace
_n=read_yaml(open("/work/shared/networks/cage2/scenario.yaml").read(),"scenario2")
_z={z.name:z for z in _n.zones}
SCENARIO2=replace(_n,zones=(_z["User"],_z["Enterprise"],_z["Operational"]))
def network_of(value):
    if isinstance(value,Network): return value
    if value=="scenario2": return SCENARIO2
    return read_yaml(Path(value).read_text(), Path(value).parent.name)
def stored_network(n): return n.name
