-- A shop of music, as pg_dump writes schemas: quoted names, identity columns, INSERTs, a function of a set, rules of rows.
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET client_min_messages = warning;
CREATE TABLE public."Artist" ("ArtistId" integer NOT NULL, "Name" character varying(120));
ALTER TABLE public."Artist" ALTER COLUMN "ArtistId" ADD GENERATED ALWAYS AS IDENTITY (SEQUENCE NAME public."Artist_ArtistId_seq" START WITH 10 INCREMENT BY 5 NO MINVALUE NO MAXVALUE CACHE 1);
CREATE TABLE public."Album" ("AlbumId" integer NOT NULL, "Title" character varying(160) NOT NULL, "ArtistId" integer NOT NULL);
CREATE TABLE public."Track" (
    "TrackId" integer NOT NULL,
    "Name" character varying(200) NOT NULL,
    "AlbumId" integer,
    "Milliseconds" integer NOT NULL,
    "Length" interval GENERATED ALWAYS AS ((('00:00:00.001'::interval) * ("Milliseconds")::double precision)) STORED,
    "UnitPrice" numeric(10,2) NOT NULL,
    "Tags" text[] DEFAULT '{}'::text[] NOT NULL
);
CREATE TABLE public."Playlist" ("PlaylistId" uuid DEFAULT gen_random_uuid() NOT NULL, "Name" character varying(120), "Made" time with time zone);
CREATE TABLE public."PlaylistTrack" ("PlaylistId" uuid NOT NULL, "TrackId" integer NOT NULL);
CREATE FUNCTION public."TracksOf"(artist text) RETURNS TABLE(track character varying, price numeric) LANGUAGE sql STABLE AS $$
  SELECT t."Name", t."UnitPrice" FROM public."Track" t JOIN public."Album" a USING ("AlbumId") JOIN public."Artist" r USING ("ArtistId") WHERE r."Name" = artist
$$;
INSERT INTO public."Artist" ("ArtistId", "Name") OVERRIDING SYSTEM VALUE VALUES (1, 'AC/DC');
INSERT INTO public."Artist" ("ArtistId", "Name") OVERRIDING SYSTEM VALUE VALUES (2, 'Antônio Carlos "Tom" Jobim');
INSERT INTO public."Album" VALUES (1, 'For Those About To Rock', 1), (2, 'Wave', 2);
INSERT INTO public."Track" ("TrackId", "Name", "AlbumId", "Milliseconds", "UnitPrice", "Tags") VALUES (1, 'For Those', 1, 343719, 0.99, '{loud,"two words"}');
INSERT INTO public."Track" ("TrackId", "Name", "AlbumId", "Milliseconds", "UnitPrice", "Tags") VALUES (2, 'Garota de Ipanema', 2, 205662, 1.29, DEFAULT);
INSERT INTO public."Track" ("TrackId", "Name", "AlbumId", "Milliseconds", "UnitPrice", "Tags") VALUES (3, 'É Preciso', 2, 1, 0.99, '{NULL}');
INSERT INTO public."Playlist" VALUES ('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', 'Music', '10:00:00+02');
INSERT INTO public."PlaylistTrack" SELECT 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', "TrackId" FROM public."Track";
SELECT pg_catalog.setval('public."Artist_ArtistId_seq"', 10, false);
ALTER TABLE ONLY public."Artist" ADD CONSTRAINT "PK_Artist" PRIMARY KEY ("ArtistId");
ALTER TABLE ONLY public."Album" ADD CONSTRAINT "PK_Album" PRIMARY KEY ("AlbumId");
ALTER TABLE ONLY public."Track" ADD CONSTRAINT "PK_Track" PRIMARY KEY ("TrackId");
ALTER TABLE ONLY public."Playlist" ADD CONSTRAINT "PK_Playlist" PRIMARY KEY ("PlaylistId");
ALTER TABLE ONLY public."PlaylistTrack" ADD CONSTRAINT "PK_PlaylistTrack" PRIMARY KEY ("PlaylistId", "TrackId");
ALTER TABLE ONLY public."Album" ADD CONSTRAINT "FK_AlbumArtistId" FOREIGN KEY ("ArtistId") REFERENCES public."Artist"("ArtistId");
ALTER TABLE ONLY public."Track" ADD CONSTRAINT "FK_TrackAlbumId" FOREIGN KEY ("AlbumId") REFERENCES public."Album"("AlbumId");
ALTER TABLE ONLY public."PlaylistTrack" ADD CONSTRAINT "FK_PlaylistTrackTrackId" FOREIGN KEY ("TrackId") REFERENCES public."Track"("TrackId") ON DELETE CASCADE;
CREATE INDEX "IFK_AlbumArtistId" ON public."Album" USING btree ("ArtistId");
CREATE POLICY cheap ON public."Track" FOR SELECT USING (("UnitPrice" < (1)::numeric));
ALTER TABLE public."Track" ENABLE ROW LEVEL SECURITY;
