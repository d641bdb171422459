SELECT * FROM public."TracksOf"('Antônio Carlos "Tom" Jobim') ORDER BY 1;
SELECT a."Title", count(*), sum(t."Length"), array_agg(t."Name" ORDER BY t."TrackId") FROM public."Album" a JOIN public."Track" t USING ("AlbumId") GROUP BY 1 ORDER BY 1;
SELECT "Name", "Tags", cardinality("Tags"), 'loud' = ANY ("Tags") FROM public."Track" ORDER BY "TrackId";
INSERT INTO public."Artist" ("Name") VALUES ('new') RETURNING "ArtistId";
SELECT p."Name", p."Made", string_agg(t."Name", '|' ORDER BY t."Name") FROM public."Playlist" p JOIN public."PlaylistTrack" USING ("PlaylistId") JOIN public."Track" t USING ("TrackId") GROUP BY 1, 2;
SELECT polname, polcmd, pg_get_expr(polqual, polrelid) FROM pg_policy;
DELETE FROM public."Track" WHERE "TrackId" = 3;
SELECT count(*) FROM public."PlaylistTrack";
