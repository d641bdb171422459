"""One suite for every engine, parametrised over them; what an engine alone has is tested in a folder of its name."""
