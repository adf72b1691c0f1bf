"""The work of commands and of the server's helpers, each a file of its own. A job uses the engine; no job uses another room's doors.

report, info   a run or a store as text           picture, film      the same, drawn
ensemble       many scenarios of a run             replay, compact    a steered run from its journal
schema         the run file as editors know it     doctor             whether Steppe runs here
examples       a run that needs no file            admit, catalogue, filming   work of a server in processes of their own
"""
