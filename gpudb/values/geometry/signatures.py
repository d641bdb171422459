"""The signatures of geometric functions, by the types of their results: what engines know of them before a call."""

from __future__ import annotations

import re

_BY_RESULT = {
    "bool": """
        box_above(box,box) box_above_eq(box,box) box_below(box,box) box_below_eq(box,box) box_contain(box,box)
        box_contain_pt(box,point) box_contained(box,box) box_eq(box,box) box_ge(box,box) box_gt(box,box)
        box_le(box,box) box_left(box,box) box_lt(box,box) box_overabove(box,box) box_overbelow(box,box)
        box_overlap(box,box) box_overleft(box,box) box_overright(box,box) box_right(box,box) box_same(box,box)
        circle_above(circle,circle) circle_below(circle,circle) circle_contain(circle,circle)
        circle_contain_pt(circle,point) circle_contained(circle,circle) circle_eq(circle,circle)
        circle_ge(circle,circle) circle_gt(circle,circle) circle_le(circle,circle) circle_left(circle,circle)
        circle_lt(circle,circle) circle_ne(circle,circle) circle_overabove(circle,circle)
        circle_overbelow(circle,circle) circle_overlap(circle,circle) circle_overleft(circle,circle)
        circle_overright(circle,circle) circle_right(circle,circle) circle_same(circle,circle) inter_lb(line,box)
        inter_sb(lseg,box) inter_sl(lseg,line) isclosed(path) ishorizontal(line) ishorizontal(lseg)
        ishorizontal(point,point) isopen(path) isparallel(line,line) isparallel(lseg,lseg) isperp(line,line)
        isperp(lseg,lseg) isvertical(line) isvertical(lseg) isvertical(point,point) line_eq(line,line)
        line_horizontal(line) line_intersect(line,line) line_parallel(line,line) line_perp(line,line)
        line_vertical(line) lseg_eq(lseg,lseg) lseg_ge(lseg,lseg) lseg_gt(lseg,lseg) lseg_horizontal(lseg)
        lseg_intersect(lseg,lseg) lseg_le(lseg,lseg) lseg_lt(lseg,lseg) lseg_ne(lseg,lseg) lseg_parallel(lseg,lseg)
        lseg_perp(lseg,lseg) lseg_vertical(lseg) on_pb(point,box) on_pl(point,line) on_ppath(point,path)
        on_ps(point,lseg) on_sb(lseg,box) on_sl(lseg,line) path_contain_pt(path,point) path_inter(path,path)
        path_n_eq(path,path) path_n_ge(path,path) path_n_gt(path,path) path_n_le(path,path) path_n_lt(path,path)
        point_above(point,point) point_below(point,point) point_eq(point,point) point_horiz(point,point)
        point_left(point,point) point_ne(point,point) point_right(point,point) point_vert(point,point)
        poly_above(polygon,polygon) poly_below(polygon,polygon) poly_contain(polygon,polygon)
        poly_contain_pt(polygon,point) poly_contained(polygon,polygon) poly_left(polygon,polygon)
        poly_overabove(polygon,polygon) poly_overbelow(polygon,polygon) poly_overlap(polygon,polygon)
        poly_overleft(polygon,polygon) poly_overright(polygon,polygon) poly_right(polygon,polygon)
        poly_same(polygon,polygon) pt_contained_circle(point,circle) pt_contained_poly(point,polygon)
    """,
    "box": """
        bound_box(box,box) box(circle) box(point) box(point,point) box(polygon) box_add(box,point)
        box_div(box,point) box_intersect(box,box) box_mul(box,point) box_sub(box,point)
    """,
    "circle": """
        circle(box) circle(point,float8) circle(polygon) circle_add_pt(circle,point) circle_div_pt(circle,point)
        circle_mul_pt(circle,point) circle_sub_pt(circle,point)
    """,
    "float8": """
        area(box) area(circle) area(path) box_distance(box,box) circle_distance(circle,circle) diameter(circle)
        dist_bp(box,point) dist_bs(box,lseg) dist_cpoint(circle,point) dist_cpoly(circle,polygon)
        dist_lp(line,point) dist_ls(line,lseg) dist_pathp(path,point) dist_pb(point,box) dist_pc(point,circle)
        dist_pl(point,line) dist_polyc(polygon,circle) dist_polyp(polygon,point) dist_ppath(point,path)
        dist_ppoly(point,polygon) dist_ps(point,lseg) dist_sb(lseg,box) dist_sl(lseg,line) dist_sp(lseg,point)
        height(box) length(lseg) length(path) line_distance(line,line) lseg_distance(lseg,lseg) lseg_length(lseg)
        path_distance(path,path) path_length(path) point_distance(point,point) poly_distance(polygon,polygon)
        radius(circle) slope(point,point) width(box)
    """,
    "int4": """
        npoints(path) npoints(polygon) path_npoints(path) poly_npoints(polygon)
    """,
    "line": """
        line(point,point)
    """,
    "lseg": """
        diagonal(box) lseg(box) lseg(point,point)
    """,
    "path": """
        path(polygon) path_add(path,path) path_add_pt(path,point) path_div_pt(path,point) path_mul_pt(path,point)
        path_sub_pt(path,point) pclose(path) popen(path)
    """,
    "point": """
        box_center(box) center(box) center(circle) circle_center(circle) close_ls(line,lseg) close_lseg(lseg,lseg)
        close_pb(point,box) close_pl(point,line) close_ps(point,lseg) close_sb(lseg,box) line_interpt(line,line)
        lseg_center(lseg) lseg_interpt(lseg,lseg) point(box) point(circle) point(float8,float8) point(lseg)
        point(polygon) point_add(point,point) point_div(point,point) point_mul(point,point) point_sub(point,point)
        poly_center(polygon)
    """,
    "polygon": """
        polygon(box) polygon(circle) polygon(int4,circle) polygon(path)
    """,
}
SIGNATURES: dict[str, tuple[str, ...]] = {
    signature: (*signature.partition("(")[2].rstrip(")").split(","), result)
    for result, listed in _BY_RESULT.items()
    for signature in listed.split()
}
"""The types of the arguments, and at last that of the result, by signature."""


def name_function(signature: str) -> str:
    """Returns the name under which DuckDB has a function."""
    return "pg_geo_" + re.sub(r"[(,]", "_", signature).rstrip(")")
